from __future__ import annotations

from pathlib import Path

import pytest

from evenpace.errors import Problem
from evenpace.respond.attach import reload
from evenpace.respond.recorder import Recorder
from evenpace.watch import events as ev
from evenpace.watch.eventlog import EventWriter, read_events
from evenpace.watch.runfolder import RunFolder

T = "2026-01-02T03:04:05.000Z"
RUN = ev.RunStarted(time=T, run="r", version="0", host="h", command=["x"], policy="restart")
STARTED = ev.IncarnationStarted(time=T, incarnation=0, agents={"h": 1}, rings="r")
OVER = ev.RunEnded(time=T, outcome="finished", exit_code=0)


def reloaded(folder: Path, content: bytes) -> ev.RunStarted:
    (folder / "events.jsonl").write_bytes(content)
    writer = EventWriter(folder / "events.jsonl", print)
    try:
        return reload(RunFolder.open(folder), Recorder(writer), "en")
    finally:
        writer.close()


def log(*events: ev.Event) -> bytes:
    return b"".join(ev.encode(event) + b"\n" for event in events)


def test_the_run_is_read_from_its_log(tmp_path: Path) -> None:
    assert reloaded(tmp_path, log(RUN, STARTED)) == RUN


def test_lines_that_cannot_be_read_are_said(tmp_path: Path) -> None:
    assert reloaded(tmp_path, log(RUN) + b"damage\n" + log(STARTED)) == RUN
    (degraded,) = (e for e in read_events(tmp_path / "events.jsonl") if isinstance(e, ev.WatchDegraded))
    assert "line 2" in degraded.text


def test_a_run_that_is_over_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="is over"):
        reloaded(tmp_path, log(RUN, STARTED, OVER))


def test_a_log_without_its_beginning_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="how the run was started"):
        reloaded(tmp_path, log(STARTED))
