from __future__ import annotations

import pytest

from evenpace.report.balance import under
from evenpace.report.loss import lost
from evenpace.report.story import Story, tell
from evenpace.watch import events as ev


def test_what_the_run_of_four_nodes_lost(demo: list[ev.Event]) -> None:
    cost = lost(tell(demo))
    assert cost.downtime == pytest.approx(
        12.1, abs=0.1
    )  # 6.3 s of hang, then launch and start of the workers
    assert cost.repeated_steps == 62  # 212 done, on from 150
    assert cost.repeated == pytest.approx(62 * 0.245, rel=0.02)
    assert cost.slow == pytest.approx(70 * 0.16, rel=0.05)  # 70 iterations, each 0.16 s longer
    assert cost.total == pytest.approx(cost.downtime + cost.repeated + cost.slow)


def test_nothing_is_known_of_an_empty_run() -> None:
    cost = lost(Story())
    assert (cost.downtime, cost.repeated_steps, cost.repeated, cost.slow, cost.total) == (
        None,
        None,
        None,
        None,
        0,
    )


def test_slow_from_the_start_has_nothing_to_compare_with(demo: list[ev.Event]) -> None:
    slow_only = [
        e for e in demo if not isinstance(e, ev.Iteration) or (e.incarnation == 0 and 80 <= e.iteration < 150)
    ]
    assert lost(tell(slow_only)).slow is None


def test_a_step_that_does_not_fit_is_not_counted(demo: list[ev.Event]) -> None:
    story = tell(demo)
    story.incarnations[1].step = 5000
    assert lost(story).repeated_steps is None


def test_under_marks_the_iterations_of_a_finding(demo: list[ev.Event]) -> None:
    story = tell(demo)
    slow = story.findings[1]
    assert under(story.incarnations[0], slow).sum() == 70
    assert under(story.incarnations[1], slow).sum() == 0
