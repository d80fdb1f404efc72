from __future__ import annotations

import pytest
from tests.report.test_applied import adapted

from evenpace.report.applied import applications
from evenpace.report.deeds import applied, in_force
from evenpace.report.story import tell
from evenpace.report.verdict import verdict
from evenpace.watch import events as ev

AGAIN = [(52, "apply"), (86, "apply"), (100, "apply"), (150, "apply"), (216, "revert")]


def changes(*steps: tuple[int, str]) -> list[ev.Event]:
    return [adapted(float(step), action, step) for step, action in steps]


def said(*steps: tuple[int, str], lang: str = "en") -> str:
    return applied(applications(tell(changes(*steps))), lang)


def test_plans_of_one_strategy_that_follow_each_other_are_told_as_one() -> None:
    twice = (*AGAIN, (229, "apply"), (235, "apply"), (240, "revert"))
    assert said(*twice) == "micro-batches from step 52 to 216 and from 229 to 240, 6 plans"
    assert said(*twice, lang="ko") == "micro-batch 조정 적용(step 52~216, 229~240), 계획 6개"


def test_a_single_plan_is_told_as_ever() -> None:
    assert said((5, "apply"), (9, "revert")) == "micro-batches from step 5 to 9"
    assert said((5, "apply")) == "micro-batches since step 5"


def test_what_is_still_in_force_comes_last() -> None:
    assert said(*AGAIN, (229, "apply")) == "micro-batches from step 52 to 216 and since 229, 5 plans"
    assert said((5, "apply"), (9, "apply")) == "micro-batches since step 5, 2 plans"


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "micro-batches from step 0 to 35 with 3 breaks"),
        ("ko", "micro-batch 조정 적용(step 0~35), 해제 3회"),
    ],
)
def test_what_came_and_went_often_is_not_listed(lang: str, text: str) -> None:
    often = [entry for step in range(0, 40, 10) for entry in ((step, "apply"), (step + 5, "revert"))]
    assert said(*often, lang=lang) == text


def test_what_a_restart_ended_has_no_last_step() -> None:
    later = ev.Adapted(
        time=ev.stamp(90), incarnation=1, strategy="micro-batches", action="apply", step=30, pause=0.0
    )
    ended = ev.IncarnationEnded(time=ev.stamp(80), incarnation=0, outcome="stopped")
    plans = applications(tell([*changes((52, "apply")), ended, later]))
    assert applied(plans, "en") == "micro-batches from step 52 to the restart and since 30"


def test_only_what_is_in_force_is_told_as_such() -> None:
    assert in_force(tell(changes(*AGAIN)), "en") == []
    now = in_force(tell(changes(*AGAIN, (229, "apply"), (235, "apply"))), "en")
    assert now == ["micro-batches since step 229, 2 plans"]


def test_the_verdict_does_not_list_each_plan(slow: list[ev.Event]) -> None:
    story = tell(slow)
    first = applications(story)[0]
    middle = ev.Adapted(
        time=ev.stamp(first.start + 5),
        incarnation=0,
        strategy="micro-batches",
        action="apply",
        step=100,
        pause=0.0,
    )
    text = verdict(tell([*slow, middle]), "en")
    assert "micro-batches from step 75 to 128, 2 plans, lost" in text


def test_what_the_job_ended_under_is_not_told_as_going_on() -> None:
    ended = ev.IncarnationEnded(time=ev.stamp(300), incarnation=0, outcome="finished")
    once = applications(tell([*changes((5, "apply")), ended]))
    assert applied(once, "en") == "micro-batches from step 5 on"
    assert applied(once, "ko") == "micro-batch 조정 적용(step 5 이후)"
    again = applications(tell([*changes((5, "apply"), (9, "revert"), (20, "apply")), ended]))
    assert applied(again, "en") == "micro-batches from step 5 to 9 and from 20 on"
