from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from evenpace.errors import Problem
from evenpace.report.output import terminal, write


class Closed(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_closed_pipe_is_left_to_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Closed())
    with pytest.raises(BrokenPipeError):
        terminal().print("words")


def test_what_the_encoding_lacks_is_a_question_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii", write_through=True))
    terminal().print("정상")
    assert raw.getvalue() == b"??\n"


def test_no_log_is_written_over(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("step 1\n", encoding="utf-8")
    (tmp_path / "other.log").symlink_to(log)
    with pytest.raises(Problem, match="is one of the logs"):
        write(b"answer", tmp_path / "other.log", [log])
    assert log.read_text(encoding="utf-8") == "step 1\n"
    write(b"answer", tmp_path / "answer.txt", [log])
    assert (tmp_path / "answer.txt").read_bytes() == b"answer"
