from __future__ import annotations

import pytest

from evenpace.report.lines import event_line
from evenpace.report.story import tell
from evenpace.watch import events as ev


@pytest.mark.parametrize("run", ["demo", "slow"])
def test_every_event_is_one_line(run: str, request: pytest.FixtureRequest) -> None:
    events = request.getfixturevalue(run)
    story = tell(events)
    for event in events:
        for lang in ("en", "ko"):
            assert "\n" not in event_line(event, story, lang)


def test_an_iteration_names_its_busiest_worker(demo: list[ev.Event]) -> None:
    story = tell(demo)
    event = next(e for e in demo if isinstance(e, ev.Iteration) and e.iteration == 100)
    assert event_line(event, story, "en").endswith("iteration  100  405 ms  busiest rank 1 on node1: 365 ms")


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (ev.WatchDegraded(time="t", text="no tap"), "no tap"),
        (ev.WatchAttached(time="t", pid=7, incarnation=0), "7"),
        (ev.CheckpointSkipped(time="t", path="a", reason="torn"), "a: torn"),
        (ev.FindingClosed(time="t", incarnation=0, id=3, reason="relief", since="t"), "#3"),
        (
            ev.Iteration(time="t", incarnation=0, iteration=1, ranks=[], durations=[], busy=[], waiting=[]),
            "t",
        ),
    ],
)
def test_other_events(event: ev.Event, words: str) -> None:
    assert words in event_line(event, tell([]), "en")
