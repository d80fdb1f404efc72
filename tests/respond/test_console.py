from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from evenpace.findings import Finding
from evenpace.respond.console import Console
from evenpace.watch import events as ev

TIME = "2026-01-02T03:04:05.000Z"
Maker = Callable[..., Finding]


def said(*events: ev.Event, lang: str = "en") -> list[str]:
    lines: list[str] = []
    console = Console(lines.append, lang)
    for event in events:
        console(event)
    return lines


def raised(finding: Finding) -> ev.FindingRaised:
    return ev.FindingRaised(time=TIME, incarnation=0, id=0, finding=finding)


def decided(action: str, **details: object) -> ev.Decision:
    return ev.Decision(time=TIME, incarnation=0, policy="p", action=action, reason="because", **details)


def test_a_finding_is_said_once_and_again_only_when_it_changes(finding: Maker) -> None:
    first, second = finding(), finding(node="node2")
    lines = said(raised(first), raised(first), raised(second))
    assert lines == [
        "Worker killed: worker-killed on node1",
        "Worker killed: worker-killed on node2",
    ]


def test_a_finding_is_said_in_the_language_asked_for(finding: Maker) -> None:
    details = {"rank": 3, "node": "node1", "signal": "SIGKILL"}
    (line,) = said(raised(replace(finding(), phrase="crash-killed", details=details)), lang="ko")
    assert "node1의 rank 3" in line


STARTED = ev.IncarnationStarted(time=TIME, incarnation=1, agents={"a": 1, "b": 2}, rings="")
SKIPPED = ev.CheckpointSkipped(time=TIME, path="c/1", reason="bad")
MOVED = ev.CheckpointSkipped(time=TIME, path="c/1", reason="bad", moved_to="d")
NUMBERED = decided("restart", checkpoint="c/step-20", step=20)
OBSERVED = "policy p does not restart; --policy restart would now restart: because"
NUMBERS = {"lost": 2.0, "costs": {"micro-batches": 0.5}, "rates": {"none": 0.3, "micro-batches": 0.1}}
NARROWED = ev.Narrowed(
    time=TIME, incarnation=0, iteration=9, cause="compute", suspects=[1], proven=True, why="it is late"
)


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (NUMBERED, "restarting: because; from checkpoint c/step-20 (step 20)"),
        (decided("restart", checkpoint="c/last.pt"), "restarting: because; from checkpoint c/last.pt"),
        (decided("restart"), "restarting: because; from whatever the script itself loads"),
        (decided("give-up"), "giving up: because"),
        (decided("would-restart"), OBSERVED),
        (
            decided("adapt", strategy="micro-batches", **NUMBERS),
            "slow job, applying micro-batches: because"
            " (lost so far 2 s; while it stays slow, each choice still loses part of the time:"
            " micro-batches 10% plus 500 ms once, waiting 30%)",
        ),
        (
            decided("would-adapt", strategy="topology"),
            "policy p changes nothing; --policy adapt would now apply topology: because",
        ),
        (decided("revert", strategy="topology"), "taking topology back: because"),
        (NARROWED, "Narrowed to rank 1 (slow in its own work), proven without a pause: it is late"),
        (
            ev.Probed(time=TIME, incarnation=0, step=7, pause=0.5, passes=2),
            "Probed at step 7, training paused 500 ms, link passes 2: slow: nothing",
        ),
        (
            ev.Adapted(
                time=TIME, incarnation=0, strategy="micro-batches", action="apply", step=9, counts=[3, 5]
            ),
            "micro-batches in force from step 9, by replica 3 5",
        ),
        (STARTED, "incarnation 1 started on a, b"),
        (SKIPPED, "checkpoint c/1 is not usable: bad"),
        (MOVED, "checkpoint c/1 is not usable: bad; moved to d"),
        (ev.WatchDegraded(time=TIME, text="blind"), "blind"),
        (ev.WatchAttached(time=TIME, pid=1, incarnation=2), "watching again, incarnation 2"),
    ],
)
def test_each_event_is_one_line(event: ev.Event, text: str) -> None:
    assert said(event) == [text]


def test_a_suspect_is_named_with_its_node() -> None:
    joined = ev.WorkerJoined(
        time=TIME, incarnation=0, rank=1, local_rank=0, world_size=2, node="n7", pid=1, tap="native"
    )
    (line,) = said(joined, NARROWED, lang="ko")
    assert "n7의 rank 1" in line


def test_most_events_are_silent() -> None:
    assert said(
        decided("none"),
        ev.IncarnationStarted(time=TIME, incarnation=0, agents={"a": 1}, rings=""),
        ev.RunEnded(time=TIME, outcome="finished", exit_code=0),
    ) == []  # fmt: skip
