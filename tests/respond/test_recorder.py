from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evenpace.findings import Finding
from evenpace.respond.ledger import Ledger
from evenpace.respond.policy import Position
from evenpace.respond.recorder import Recorder
from evenpace.watch import events as ev
from evenpace.watch.eventlog import EventWriter, read_events

T = "2026-01-02T03:04:05.000Z"
Maker = Callable[..., Finding]


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[EventWriter]:
    made = EventWriter(tmp_path / "log", print)
    yield made
    made.close()


def written(writer: EventWriter, tmp_path: Path) -> list[ev.Event]:
    return list(read_events(tmp_path / "log"))


def started(number: int, **details: object) -> ev.IncarnationStarted:
    return ev.IncarnationStarted(time=T, incarnation=number, agents={"node0": 1}, rings="r", **details)


def iteration(number: int, second: int | None = None) -> ev.Iteration:
    begun = ev.stamp(ev.seconds(T) + (number if second is None else second))
    return ev.Iteration(
        time=begun, incarnation=0, iteration=number, ranks=[0], durations=[1.0], busy=[1.0], waiting=[0.0]
    )


def raised(number: int, finding: Finding, at: int | None = None) -> ev.FindingRaised:
    return ev.FindingRaised(time=T, incarnation=0, id=number, finding=finding, iteration=at)


def story(finding: Finding) -> list[ev.Event]:
    """Return a run with two restarts."""
    run = ev.RunStarted(
        time=T, run="r", version="0", host="h", command=["x"], policy="restart", nodes=["node0", "node1"],
        spares=["spare0"], restarts=3, max_nodes_out=2, min_nodes=1,
    )  # fmt: skip
    replace = ev.Decision(
        time=T, incarnation=0, policy="restart", action="restart", reason="r", finding=0,
        nodes_out=["node1"], nodes_in=["spare0"],
    )  # fmt: skip
    again = ev.Decision(time=T, incarnation=1, policy="restart", action="restart", reason="r")
    return [
        run, started(0), iteration(0), iteration(1), raised(0, finding, at=1), replace,
        ev.FindingClosed(time=T, incarnation=0, id=0, reason="restart", since=T),
        started(1, step=20), iteration(0), again,
    ]  # fmt: skip


def test_a_log_adds_up_to_the_same_as_the_run(writer: EventWriter, tmp_path: Path, finding: Maker) -> None:
    live, folded = Recorder(writer), Ledger()
    for event in story(finding()):
        live.write(event)
    for event in written(writer, tmp_path):
        folded.apply(event)
    assert folded == live.ledger
    situation = folded.situation()
    assert (situation.nodes, situation.spares, situation.out) == (("node0", "spare0"), (), 1)
    assert situation.restarts == 2
    assert situation.failures[0].position == Position(None, 1)
    assert situation.failures[1].position == Position(20, 0)
    assert folded.pending is not None


def test_a_second_watcher_says_nothing_twice(writer: EventWriter, tmp_path: Path, finding: Maker) -> None:
    joined = ev.WorkerJoined(
        time=T, incarnation=0, rank=0, local_rank=0, world_size=1, node="node0", pid=9, tap="native"
    )
    recorder = Recorder(writer)
    for event in (started(0), joined, iteration(4), raised(3, finding())):
        recorder.load(event)
    recorder.watched_anew()
    for event in (
        joined,
        iteration(4),
        raised(70, finding()),
        raised(71, finding(node="node0")),
        iteration(5),
    ):
        recorder.write_watched(event)
    assert written(writer, tmp_path) == [
        raised(3, finding()),
        raised(4, finding(node="node0")),
        iteration(5),
    ]


def test_a_watcher_of_a_ring_that_has_wrapped_goes_on_with_the_count(
    writer: EventWriter, tmp_path: Path, finding: Maker
) -> None:
    recorder = Recorder(writer)
    for event in (started(0), iteration(800), iteration(801)):
        recorder.load(event)
    recorder.watched_anew()
    early, late = finding(node="node0"), finding(node="node1")
    for event in (iteration(0, 800), raised(0, early, at=0), iteration(1, 801), iteration(2, 802)):
        recorder.write_watched(event)
    recorder.write_watched(raised(1, late, at=2))
    assert written(writer, tmp_path) == [iteration(802), raised(0, late, at=802)]


def test_ids_of_watchers_become_ids_of_the_run(writer: EventWriter, tmp_path: Path, finding: Maker) -> None:
    recorder = Recorder(writer)
    closed = ev.FindingClosed(time=T, incarnation=0, id=900, reason="relief", since=T)
    for number in (0, 1):
        recorder.write(started(number))
        recorder.write_watched(raised(900, finding()))
        recorder.write_watched(closed)
    ids = [
        event.id
        for event in written(writer, tmp_path)
        if isinstance(event, ev.FindingRaised | ev.FindingClosed)
    ]
    assert ids == [0, 0, 1, 1]


def test_a_listener_that_fails_is_dropped(writer: EventWriter, tmp_path: Path) -> None:
    heard: list[ev.Event] = []

    def fails(event: ev.Event) -> None:
        raise RuntimeError("a defect")

    recorder = Recorder(writer, [fails, heard.append])
    recorder.write(started(0))
    recorder.write(iteration(0))
    assert [type(event).__name__ for event in heard] == ["WatchDegraded", "IncarnationStarted", "Iteration"]
    assert "a defect" in str(written(writer, tmp_path)[1])


def test_a_watcher_that_begins_anew_says_nothing_twice(
    writer: EventWriter, tmp_path: Path, finding: Maker
) -> None:
    recorder = Recorder(writer)
    recorder.write(started(0))
    for _ in range(2):
        recorder.watched_anew()
        for event in (iteration(0), iteration(1), raised(0, finding())):
            recorder.write_watched(event)
    assert written(writer, tmp_path) == [
        started(0),
        iteration(0),
        iteration(1),
        raised(0, finding()),
        raised(0, finding()),
    ]
