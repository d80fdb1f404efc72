from __future__ import annotations

import io
import json
import sys

import pytest
from rich.cells import cell_len

from evenpace.cli import cli, execute

PREEMPTED = "slurmstepd: error: *** JOB 401 ON n7 CANCELLED AT 2025-02-11T04:10:55 DUE TO PREEMPTION ***"


def run(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = execute(cli, ["explain", *words])
    said = capfd.readouterr()
    return code, said.out, said.err


def feed(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_a_code_with_its_checks_and_incidents(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capfd, "Xid 79")
    assert code == 0
    assert "fallen off the bus" in out
    assert "$ " in out
    assert "IL-" in out


def test_words_that_the_shell_split_are_one_question(capfd: pytest.CaptureFixture[str]) -> None:
    together = run(capfd, "Xid 79")
    assert run(capfd, "Xid", "79") == together
    _, out, _ = run(capfd, "exit", "code", "137", "SIGBUS", "--format", "json")
    assert [one["question"] for one in json.loads(out)["questions"]] == ["exit code 137", "SIGBUS"]


def test_a_negative_exit_code_is_no_option(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capfd, "-9")
    assert code == 0
    assert "SIGKILL" in out
    code, _, err = run(capfd, "--languish", "x")
    assert code == 2
    assert "No such option" in err


def test_json_says_the_same(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capfd, PREEMPTED, "--format", "json")
    page = json.loads(out)
    assert (code, page["schema"]) == (0, 1)
    (question,) = page["questions"]
    meaning = question["meanings"][0]
    assert question["known"]
    assert (meaning["key"], meaning["standing"]) == ("slurm-preempted", "cause")
    assert meaning["names"] == {}
    assert any(step["command"] for step in meaning["check"])


def test_korean(capfd: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capfd, PREEMPTED, "--lang", "ko")
    assert "선점" in out
    assert "원인" in out


def test_the_unknown_is_exit_code_1(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capfd, "Xid 79", "the flux capacitor is misaligned")
    assert code == 1
    assert "Not known." in out
    assert "fallen off the bus" in out


def test_standard_input(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, f"step 3\n{PREEMPTED}\n".encode())
    code, out, _ = run(capfd, "-")
    assert code == 0
    assert "preempted" in out


@pytest.mark.parametrize("content", [b"", b"  \n", b"\x00\x01", b"x" * ((1 << 20) + 1)])
def test_input_that_cannot_be_read(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    feed(monkeypatch, content)
    code, out, err = run(capfd, "-")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


def test_nothing_asked(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(capfd)[0] == 2


def test_a_hostile_line_does_not_steer_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    hostile = (
        "client socket has timed out after 60s while trying to connect to (\x1b]0;t\x07a\x9b31m\u202e, 29500)"
    )
    for form in ("text", "json"):
        _, out, _ = run(capfd, hostile, hostile, "--format", form)
        assert not set(out) & set("\x1b\x07\x9b\u202e")


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_readable_on_60_columns(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, lang: str
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    _, out, _ = run(capfd, "11", "ncclSystmError", PREEMPTED, "--lang", lang)
    assert max(cell_len(line.rstrip()) for line in out.splitlines()) <= 60
