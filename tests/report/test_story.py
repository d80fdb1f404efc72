from __future__ import annotations

import random
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenpace.findings import Finding, Severity, Subject
from evenpace.report.json import report
from evenpace.report.story import Story, tell
from evenpace.report.timeline import timeline
from evenpace.report.verdict import verdict
from evenpace.watch import events as ev


def test_the_whole_story(demo: list[ev.Event]) -> None:
    story = tell(demo)
    first, second = story.in_order()
    assert (first.outcome, second.outcome) == ("stopped", "finished")
    assert (len(first.iterations), len(second.iterations)) == (212, 150)
    assert second.node_of(2) == "node4"
    assert (second.step, second.checkpoint) == (150, "checkpoints/step-000150")
    assert story.nodes_out() == ["node2"]
    assert story.restarts() == 1
    assert [f.id for f in story.ranked()] == [2, 1]
    assert [f.reason for f in story.ranked()] == ["restart", "relief"]
    assert story.decision_for(2).action == "restart"  # type: ignore[union-attr]
    assert story.decision_for(9) is None


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_any_prefix_and_any_order_can_be_told(demo: list[ev.Event], slow: list[ev.Event], seed: int) -> None:
    chance = random.Random(seed)
    events = demo if seed % 3 else slow
    part = events[: chance.randrange(len(events) + 1)]
    if seed % 2:
        chance.shuffle(part)
    story = tell(part)
    assert story.events == len(part)
    assert verdict(story, "en")
    assert timeline(story, "ko") is not None
    assert report(story, "en")["schema"] == 1


def test_order_does_not_matter_for_what_happened(demo: list[ev.Event]) -> None:
    backwards, forwards = tell(reversed(demo)), tell(demo)
    assert backwards.ranked() == forwards.ranked()
    assert backwards.incarnations[1].workers == forwards.incarnations[1].workers
    assert (backwards.started, backwards.latest) == (forwards.started, forwards.latest)


@pytest.mark.parametrize("run", ["demo", "slow"])
def test_each_kind_can_be_missing(run: str, request: pytest.FixtureRequest) -> None:
    events = request.getfixturevalue(run)
    for kind in {type(event) for event in events}:
        story = tell(event for event in events if not isinstance(event, kind))
        assert report(story, "ko")["verdict"]


def test_a_time_that_is_none_counts_as_damaged() -> None:
    for time in ("yesterday", "", "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00Z"):
        story = tell([ev.RunEnded(time=time, outcome="finished", exit_code=0)])
        assert (story.damaged, story.events, story.end) == (1, 0, None)


def test_a_later_event_with_the_same_id_replaces_the_finding() -> None:
    finding = Finding(
        fault="slow-throughput", severity=Severity.INFO, confidence=0.5, subject=Subject("job"), summary=""
    )
    story = Story()
    story.add(ev.FindingRaised(time=ev.stamp(1000), incarnation=0, id=1, finding=finding))
    worse = replace(finding, severity=Severity.CRITICAL, since=ev.stamp(900))
    story.add(ev.FindingRaised(time=ev.stamp(1010), incarnation=0, id=1, finding=worse))
    (raised,) = story.ranked()
    assert raised.finding.severity is Severity.CRITICAL
    assert (raised.raised, raised.onset, raised.closed) == (1000, 900, None)


def test_watchers_and_degraded_watching_are_kept() -> None:
    story = tell(
        [
            ev.WatchAttached(time=ev.stamp(5), pid=7, incarnation=0),
            ev.WatchDegraded(time=ev.stamp(6), text="no tap"),
            ev.WorkerExited(time=ev.stamp(7), incarnation=0, rank=0, node="n", pid=1, how="gone"),
        ]
    )
    assert [m.kind for m in timeline(story, "en")] == ["note", "note"]
    assert "no tap" in timeline(story, "en")[1].text
    assert msgspec.to_builtins(story.degraded[0][1])["text"] == "no tap"
