"""Logs: how torchrun says that its workers ended."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from evenpace.collect.job.logs import LogLine, closed_by_agent, last_error_lines, logged_exits, read_tail

TABLE = """\
E1130 02:00:00.1 77 api.py:1002] failed (exitcode: -9) local_rank: 0 (pid: 4242) of binary: /usr/bin/python
W1130 02:00:00.2 77 api.py:1010] Sending process 4243 closing signal SIGTERM
Root Cause (first observed failure):
[0]:
  rank      : 2 (local_rank: 0)
  exitcode  : -9 (pid: 4242)
  traceback : Signal 9 (SIGKILL) received by PID 4242
"""


def lines(text: str) -> list[LogLine]:
    return [LogLine("node2.log", number, line) for number, line in enumerate(text.splitlines(), 1)]


def test_the_first_word_about_a_pid_counts() -> None:
    exits = logged_exits(lines(TABLE))
    assert list(exits) == [4242]
    assert (exits[4242].code, exits[4242].signal_name, exits[4242].line.number) == (-9, "SIGKILL", 1)


def test_workers_that_the_agent_closed_are_known() -> None:
    assert closed_by_agent(lines(TABLE)) == {4243: "SIGTERM"}


def test_only_the_tail_is_read(tmp_path: Path) -> None:
    path = tmp_path / "node.log"
    path.write_bytes(b"x" * 5000 + b"\nlast line \xff\n")
    assert [line.text for line in read_tail(path, 12)] == ["last line \ufffd"]


def test_a_missing_log_is_empty(tmp_path: Path) -> None:
    assert read_tail(tmp_path / "nothing.log") == []


def test_telling_lines_are_kept() -> None:
    found = last_error_lines(lines("fine\nRuntimeError: boom\nfine"))
    assert [line.text for line in found] == ["RuntimeError: boom"]


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert isinstance(logged_exits(lines(text)), dict)
    assert isinstance(closed_by_agent(lines(text)), dict)
