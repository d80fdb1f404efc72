from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evenpace.findings import Finding
from evenpace.respond import nodelogs
from evenpace.respond.clock import Clock
from evenpace.respond.hearing import Hearing
from evenpace.respond.parts import Parts
from evenpace.respond.recorder import Recorder
from evenpace.watch import events as ev
from evenpace.watch.eventlog import EventWriter, read_events

T = "2026-01-02T03:04:05.000Z"
XID = "kernel: NVRM: Xid (PCI:0000:9b:00): 79, pid=4242, name=python, GPU has fallen off the bus.\n"
Maker = Callable[..., Finding]


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    writer = EventWriter(tmp_path / "events", print)
    none: Any = None
    yield Parts(none, none, Recorder(writer), none, none, none, none, clock=Clock())
    writer.close()


def crash(finding: Finding, phrase: str = "crash-killed") -> ev.FindingRaised:
    said = replace(finding, phrase=phrase, details={"rank": 1, "node": "node1", "signal": "SIGKILL"})
    return ev.FindingRaised(time=T, incarnation=0, id=0, finding=said)


def test_a_crash_is_recorded_with_what_the_log_says(tmp_path: Path, parts: Parts, finding: Maker) -> None:
    (tmp_path / "node1.log").write_text(XID)
    heard = Hearing(0, {"node1": tmp_path / "node1.log"}, parts).complete(crash(finding()))
    assert isinstance(heard, ev.FindingRaised)
    assert (heard.finding.fault, heard.finding.subject.rank) == ("gpu-hardware", 1)
    assert heard.id == 0


def test_nothing_else_is_touched(tmp_path: Path, parts: Parts, finding: Maker) -> None:
    (tmp_path / "node1.log").write_text(XID)
    hearing = Hearing(0, {"node1": tmp_path / "node1.log"}, parts)
    for event in (crash(finding("non-communication-hang"), "hang-outside"),
                  ev.FindingClosed(time=T, incarnation=0, id=0, reason="relief", since=T)):  # fmt: skip
        assert hearing.complete(event) is event


def test_an_error_costs_what_the_logs_say_and_is_told_once(
    tmp_path: Path, parts: Parts, finding: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(nodelogs, "case_of", fails)
    event = crash(finding())
    assert Hearing(0, {"node1": tmp_path / "node1.log"}, parts).complete(event) is event
    (said,) = read_events(tmp_path / "events")
    assert isinstance(said, ev.WatchDegraded)
    assert "a defect" in said.text
