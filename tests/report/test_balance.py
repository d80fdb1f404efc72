from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenpace.findings import Finding, Severity, Subject
from evenpace.report.balance import Balance, balance_of, balances, course, total
from evenpace.report.story import Story, tell
from evenpace.watch import events as ev

HEALTHY, ONSET, APPLY, REVERT, END = 1.0, 20, 30, 50, 60


def run(
    slow: float, eased: float, *, pause: float = 0.0, closed: int | None = None, held: bool = True
) -> list[ev.Event]:
    """A run that is slow from ONSET on and eased from APPLY to REVERT; `held`: pauses lengthen iterations."""
    now, events = 1000.0, []
    finding = Finding("slow-throughput", Severity.WARNING, 0.9, Subject("job"), "")
    for i in range(END):
        if i in (APPLY, REVERT):
            action = "apply" if i == APPLY else "revert"
            adapted = ev.Adapted(
                time=ev.stamp(now), incarnation=0, strategy="s", action=action, step=i, pause=pause
            )
            events.append(adapted)
        lasted = HEALTHY if i < ONSET else eased if APPLY <= i < REVERT else slow
        lasted += pause if held and i in (APPLY, REVERT) else 0.0
        now += lasted
        events.append(iteration(now, i, lasted))
        if i == ONSET + 3:
            told = ev.FindingRaised(time=ev.stamp(now), incarnation=0, id=1, finding=finding, iteration=ONSET)
            events.append(told)
        if i == closed:
            over = ev.FindingClosed(
                time=ev.stamp(now), incarnation=0, id=1, reason="relief", since=ev.stamp(now), iteration=i
            )
            events.append(over)
    return events


def iteration(now: float, number: int, lasted: float) -> ev.Iteration:
    return ev.Iteration(
        time=ev.stamp(now),
        incarnation=0,
        iteration=number,
        ranks=[0, 1],
        durations=[lasted, lasted],
        busy=[lasted / 2, lasted],
        waiting=[lasted / 2, 0.0],
    )


def of(events: list[ev.Event]) -> Balance:
    found = total(tell(events), tell(events).incarnations[0])
    assert found is not None
    return found


def test_what_a_strategy_brings() -> None:
    found = of(run(1.5, 1.1))
    assert found.lost == pytest.approx(20 * 0.5 + 20 * 0.1)
    assert found.without == pytest.approx(40 * 0.5)
    assert found.recovered == pytest.approx(20 * 0.4)


@pytest.mark.parametrize("held", [True, False])
def test_a_pause_is_lost_once_whether_an_iteration_holds_it_or_not(held: bool) -> None:
    found = of(run(1.5, 1.1, pause=3.0, held=held))
    assert found.paused == 6.0
    assert found.lost == pytest.approx(20 * 0.5 + 20 * 0.1 + 6.0)
    assert found.recovered == pytest.approx(20 * 0.4 - 6.0)


def test_a_strategy_that_costs_more_than_it_brings_is_negative() -> None:
    assert of(run(1.5, 1.9)).recovered == pytest.approx(-20 * 0.4)


def test_nothing_is_claimed_without_a_strategy() -> None:
    found = of([event for event in run(1.5, 1.5) if not isinstance(event, ev.Adapted)])
    assert (found.without, found.recovered) == (None, None)
    assert found.lost == pytest.approx(40 * 0.5)


def test_nothing_is_known_where_nothing_was_healthy() -> None:
    early = [
        event for event in run(1.5, 1.1) if not isinstance(event, ev.Iteration) or event.iteration >= ONSET
    ]
    story = tell(early)
    assert course(story, story.incarnations[0]) is None
    assert balance_of(story, story.findings[1]) is None
    assert balances(Story()) == {}


def test_what_a_strategy_hides_still_counts_after_the_finding_is_closed() -> None:
    found = of(run(1.5, 1.0, closed=APPLY + 5))
    assert found.without == pytest.approx(10 * 0.5 + 20 * 0.5)
    assert found.recovered == pytest.approx(20 * 0.5)


def test_the_slow_run_by_finding(slow: list[ev.Event]) -> None:
    found = balances(tell(slow))
    worker, link, last = found[1], found[2], found[3]
    assert worker is not None
    assert link is not None
    assert last is not None
    # 15 slow iterations of 0.12 s, 45 eased and 8 more until it was taken back of 0.025 s each
    assert worker.lost == pytest.approx(15 * 0.12 + 53 * 0.025 + 0.02, rel=0.05)
    assert worker.without == pytest.approx(60 * 0.12, rel=0.05)  # and not 68: rank 1 was well from 120 on
    assert link.recovered is not None
    assert link.recovered < 0
    assert link.paused == pytest.approx(0.41 + 1.1 + 1.04)
    assert last.recovered is None


@settings(max_examples=40, deadline=None)
@given(st.floats(1.0, 4.0), st.floats(0.5, 4.0), st.floats(0.0, 5.0), st.none() | st.integers(APPLY, END - 1))
def test_sums_hold(slow: float, eased: float, pause: float, closed: int | None) -> None:
    found = of(run(slow, eased, pause=pause, closed=closed))
    assert found.lost >= found.paused >= 0
    assert found.without is not None
    assert found.without >= 0
    assert found.recovered == pytest.approx(found.without - found.lost)
