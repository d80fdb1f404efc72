from __future__ import annotations

from pathlib import Path

import pytest

from evenpace.findings import Evidence, Finding, Severity, Subject
from evenpace.respond import nodelogs
from evenpace.respond.nodelogs import case_of, exceptions, recorded_rank

FINDING = Finding("worker-killed", Severity.CRITICAL, 0.95, Subject("job"), "x")


def test_only_the_end_of_a_long_log_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodelogs, "LAST", 1000)
    log = tmp_path / "node0.log"
    log.write_text("Xid 79, long ago\n" + "a line like any other\n" * 200 + "the last word\n")
    texts = [line.text for line in case_of([log], FINDING).lines]
    assert texts[-1] == "the last word"
    assert texts[0] == "a line like any other"
    assert len(texts) < 60


def test_what_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "empty.log").touch()
    (tmp_path / "binary.log").write_bytes(bytes(4096))
    (tmp_path / "good.log").write_text("a line\n")
    names = ("missing.log", "empty.log", "binary.log", "good.log")
    case = case_of([tmp_path, *(tmp_path / name for name in names)], FINDING)
    assert [source.name for source in case.sources] == [str(tmp_path / "good.log")]


def test_recorded_exceptions_are_lines_of_their_rank() -> None:
    trace = 'Traceback (most recent call last):\n  File "x.py", line 1, in f\nKeyError: 7\n'
    evidence = (Evidence("rank 12 exception", text=f"KeyError: 7\n{trace}"), Evidence("rank 3", metric="end"))
    finding = Finding("user-code-exception", Severity.CRITICAL, 0.9, Subject("job"), "x", evidence=evidence)
    lines = case_of([], finding).lines
    assert list(exceptions(finding)) == [12]
    assert [line.text for line in lines].count("KeyError: 7") == 1
    assert {line.printer.rank for line in lines} == {12}
    assert [recorded_rank(line.source) for line in lines[:1]] == [12]
    assert recorded_rank("/run/logs/0/node0.log") is None
