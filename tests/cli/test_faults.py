"""evenpace faults: what a drill prints, and what it refuses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from evenpace.cli.faults import command
from evenpace.errors import Problem
from evenpace.faults import ledger, names
from evenpace.watch.events import WorkerJoined, encode


def invoke(*arguments: str) -> str:
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_list_says_the_right_verdict_of_each(lang: str) -> None:
    output = invoke("list", "--lang", lang)
    assert all(f"{name} (" in output for name in names())
    assert "non-communication-slow" in output


def test_plant_prints_lines_for_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/with space")
    first, second = invoke("plant", "hang-loop", "--rank", "2", "--step", "30").splitlines()
    assert first == "export EVENPACE_FAULT=hang-loop:rank=2:step=30"
    assert second.startswith("export PYTHONPATH='")
    assert second.endswith(":/with space'")


def test_plant_refuses_a_fault_from_outside() -> None:
    with pytest.raises(Problem, match="evenpace faults inject slow"):
        invoke("plant", "slow", "--rank", "2", "--step", "3")


def test_inject_hits_the_worker_of_the_rank_and_reverts(tmp_path: Path) -> None:
    environ = {**os.environ, "EVENPACE_RUN": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env=environ) as worker:
        joined = WorkerJoined(
            time="2026-01-01T00:00:00Z",
            incarnation=0,
            rank=3,
            local_rank=0,
            world_size=4,
            node="node3",
            pid=worker.pid,
            tap="native",
        )
        (tmp_path / "events.jsonl").write_bytes(encode(joined) + b"\n")
        output = invoke("inject", "slow", "--run", str(tmp_path), "--rank", "3", "--seconds", "0.2")
        worker.kill()
    assert f"slow: rank 3 on node3 (process {worker.pid})" in output
    assert "slow: reverted after 0." in output
    assert [(entry["fault"], entry["what"]) for entry in ledger.read(tmp_path)] == [
        ("slow", "injected"),
        ("slow", "reverted"),
    ]


def test_inject_says_that_there_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="no run in"):
        invoke("inject", "slow", "--run", str(tmp_path), "--rank", "3")
