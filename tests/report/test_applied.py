from __future__ import annotations

from evenpace.report.applied import applications, pauses, stretches
from evenpace.report.story import tell
from evenpace.watch import events as ev


def adapted(at: float, action: str, step: int, **details: object) -> ev.Adapted:
    return ev.Adapted(
        time=ev.stamp(at), incarnation=0, strategy="micro-batches", action=action, step=step, **details
    )


def test_what_was_applied_in_the_slow_run(slow: list[ev.Event]) -> None:
    first, second = applications(tell(slow))
    assert (first.strategy, first.step, first.end_step, first.finding) == ("micro-batches", 75, 128, 1)
    assert first.counts == (9, 5, 9, 9, 8, 8, 8, 8)
    assert first.pause == 0.012 + 0.008
    assert (second.strategy, second.step, second.end_step, second.finding) == ("topology", 165, 190, 2)


def test_another_plan_of_a_strategy_is_another_application() -> None:
    plans = applications(
        tell([adapted(10, "apply", 5, counts=[1, 3]), adapted(20, "apply", 9, counts=[2, 2])])
    )
    assert [(one.step, one.end_step, one.end) for one in plans] == [(5, 9, 20.0), (9, None, None)]


def test_plans_that_follow_each_other_are_one_stretch() -> None:
    again = [adapted(20, "apply", 9), adapted(30, "revert", 12), adapted(40, "apply", 15)]
    one, other = stretches(applications(tell([adapted(10, "apply", 5), *again])))
    assert [plan.step for plan in one] == [5, 9]
    assert [plan.step for plan in other] == [15]


def test_the_same_step_of_another_start_is_no_continuation() -> None:
    later = ev.Adapted(
        time=ev.stamp(40), incarnation=1, strategy="micro-batches", action="apply", step=9, pause=0.0
    )
    events = [adapted(10, "apply", 5), adapted(20, "revert", 9), later]
    assert len(stretches(applications(tell(events)))) == 2


def test_what_failed_changes_nothing() -> None:
    failed = adapted(20, "revert", 0, failed="late")
    (one,) = applications(tell([adapted(10, "apply", 5), failed, adapted(5, "apply", 0, failed="no")]))
    assert (one.start, one.end) == (10.0, None)


def test_what_is_never_taken_back_ends_with_its_incarnation() -> None:
    ended = ev.IncarnationEnded(time=ev.stamp(30), incarnation=0, outcome="stopped")
    (one,) = applications(tell([adapted(10, "apply", 5), ended]))
    assert (one.end, one.end_step) == (30.0, None)


def test_pauses_are_those_of_probes_and_strategies(slow: list[ev.Event]) -> None:
    assert sorted(seconds for _, seconds in pauses(tell(slow), 0)) == [0.008, 0.012, 0.41, 1.04, 1.1]
    assert list(pauses(tell(slow), 1)) == []
