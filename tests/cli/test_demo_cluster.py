"""`evenpace demo-cluster`: what it serves, what it says, and how it ends."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evenpace.cli import cli, execute

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Return a helper that starts the command and waits until it says where it is."""
    running = []

    def begin(*options: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "evenpace", "demo-cluster", "--port=0", "--nodes=100", *options]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
        )
        running.append(process)
        return process

    yield begin
    for process in running:
        process.kill()
        process.communicate()


def audited(
    kubeconfig: Path, capsys: pytest.CaptureFixture[str], *options: str
) -> tuple[int, dict[str, str]]:
    """Return (exit code, outcome of each check) of an audit through a kubeconfig."""
    code = execute(cli, ["audit", "--kubeconfig", str(kubeconfig), "--format", "json", *options])
    answer = json.loads(capsys.readouterr().out)
    return code, {one["id"]: one["outcome"] for one in answer["checks"]}


def test_one_gap_is_served_and_found(
    start: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    process = start("--gap", "driver-drift", "--kubeconfig=demo.kubeconfig", "--log=requests.jsonl")
    assert process.stdout is not None
    said = process.stdout.readline()
    assert "100 GPU nodes at http://127.0.0.1:" in said
    assert "gaps: 1 " in said
    assert "evenpace audit --kubeconfig demo.kubeconfig" in process.stdout.readline()
    code, outcomes = audited(tmp_path / "demo.kubeconfig", capsys)
    assert code == 1
    assert {id_ for id_, outcome in outcomes.items() if outcome != "pass"} == {"driver_drift"}
    asked = [json.loads(line) for line in (tmp_path / "requests.jsonl").read_text("utf-8").splitlines()]
    assert {one["method"] for one in asked} == {"GET"}
    assert {one["agent"].partition("/")[0] for one in asked} == {"evenpace"}
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0


def test_a_clean_cluster_in_korean(start: Start) -> None:
    process = start("--clean", "--lang=ko")
    assert process.stdout is not None
    assert "가상 클러스터" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--gap", "unicorn"], "there is no gap 'unicorn' to seed"),
        (["--clean", "--gap", "driver_drift"], "--clean and --gap exclude each other"),
        (["--nodes", "5"], "--nodes"),
        (["--log", "/nowhere/log"], "cannot write /nowhere/log"),
        (["--clean", "--nodes", "100", "--port", "0", "--kubeconfig", "/nowhere/config"], "cannot write"),
    ],
)
def test_what_cannot_be_served(options: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(cli, ["demo-cluster", *options]) == 2
    assert told in capsys.readouterr().err


def test_a_port_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert execute(cli, ["demo-cluster", "--clean", "--nodes=100", "--port", port]) == 2
    assert f"cannot listen on port {port}" in capsys.readouterr().err
