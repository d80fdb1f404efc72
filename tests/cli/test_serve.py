"""`evenpace serve` as a process: what it prints and refuses, how it ends, and bad requests."""

from __future__ import annotations

import http.client
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenpace.cli import cli, execute

START = [sys.executable, "-m", "evenpace", "serve", "--port", "0"]


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[subprocess.Popen[str], int]]:
    with subprocess.Popen(START, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        port = re.search(r"http://127\.0\.0\.1:(\d+)/", said)
        assert port, said
        yield process, int(port[1])
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def ask(port: int, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.putrequest(method, "/", skip_host=True)
    connection._buffer[0] = f"{method} {path} HTTP/1.1".encode("latin-1")  # type: ignore[attr-defined]  unchecked
    for name, value in ({"Host": "localhost"} | headers).items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body


def test_it_answers(running: tuple[subprocess.Popen[str], int]) -> None:
    status, body = ask(running[1], "/library?lang=ko&q=NCCL")
    assert status == 200
    assert "사례" in body.decode()


@pytest.mark.parametrize(
    ("path", "statuses"),
    [
        ("/library?q=" + "x" * 9_000, {414}),
        ("/../../etc/passwd", {404}),
        ("/static/../../../etc/passwd", {404}),
        ("/static/%2e%2e/%2e%2e/app.py", {404}),
        ("/library/%00", {404}),
        ("/library?q=%00%ff", {200, 400}),
        ("/library?lang=%00", {400}),
        ("//example.org/", {404}),
    ],
)
def test_hostile_addresses(running: tuple[subprocess.Popen[str], int], path: str, statuses: set[int]) -> None:
    status, body = ask(running[1], path)
    assert status in statuses
    assert b"Traceback" not in body
    assert b"root:" not in body


def test_ten_megabytes_of_query(running: tuple[subprocess.Popen[str], int]) -> None:
    with socket.create_connection(("127.0.0.1", running[1]), timeout=20) as raw:
        try:
            raw.sendall(b"GET /library?q=" + b"x" * 10_000_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            pass  # it hung up before we had said it all
        else:
            assert raw.recv(100).split()[1] in {b"400", b"414", b"431"}
    assert ask(running[1], "/about")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_it_only_reads(running: tuple[subprocess.Popen[str], int], method: str) -> None:
    assert ask(running[1], "/library", method)[0] == 405


def test_another_name_gets_no_answer(running: tuple[subprocess.Popen[str], int]) -> None:
    assert ask(running[1], "/library", Host="example.org")[0] == 400


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--host", "0.0.0.0"], "--token-file"),  # noqa: S104
        (["--port", "x"], "--port"),
        (["--folder", "/nowhere"], "cannot read"),
        (["--token-file", "/nowhere"], "cannot read the token"),
        (["--token-file", "/dev/null"], "is no file"),
        (
            ["--host", "no.such.host.invalid", "--token-file", "TOKEN", "--allow-host", "a"],
            "there is no address",
        ),
        (["--host", "0.0.0.0", "--token-file", "TOKEN"], "--allow-host"),  # noqa: S104
        (["--token-file", "SHORT"], "at least 16"),
        (["--allow-host", "http://x:80/"], "no name of a host"),
        (["--allow-host", "a\x1b[31m"], "no name of a host"),
        (["--allow-host", ""], "no name of a host"),
        (["--token-file", "OPEN"], "chmod 600"),
    ],
)
def test_what_would_let_others_in_or_cannot_run_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], options: list[str], says: str
) -> None:
    for name, text, mode in (("TOKEN", "x" * 32, 0o600), ("SHORT", "x", 0o600), ("OPEN", "x" * 32, 0o644)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(mode)
    given = [str(tmp_path / one) if one in {"TOKEN", "SHORT", "OPEN"} else one for one in options]
    assert execute(cli, ["serve", "--port", "0", *given]) == 2
    said = capfd.readouterr().err
    assert says in said
    assert said.count("\n") == 1


def test_a_taken_port_is_named(
    running: tuple[subprocess.Popen[str], int], capfd: pytest.CaptureFixture[str]
) -> None:
    assert execute(cli, ["serve", "--port", str(running[1])]) == 2
    assert f"port {running[1]}" in capfd.readouterr().err


def test_without_its_libraries_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "evenpace.serve.running", raising=False)
    assert execute(cli, ["serve", "--port", "0"]) == 2
    assert "pip install 'evenpace[serve]'" in capfd.readouterr().err
