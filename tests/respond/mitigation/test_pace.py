"""The pace of a job from its iterations."""

from __future__ import annotations

import pytest

from evenpace.respond.mitigation.pace import Pace
from evenpace.watch.events import Iteration


def pace(*durations: float, ranks: int = 3) -> Pace:
    made = Pace()
    for number, seconds in enumerate(durations):
        made.add(
            Iteration(
                time="2026-01-01T00:00:00.000Z",
                incarnation=0,
                iteration=number,
                ranks=list(range(ranks)),
                durations=[seconds] * (ranks - 1) + [9.0],
                busy=[seconds * (rank + 1) for rank in range(ranks)],
                waiting=[0.0] * ranks,
            )
        )
    return made


def test_now_is_the_median_of_the_latest_and_of_nothing_before() -> None:
    one = pace(1, 1, 1, 2, 2, 2, 30, 2)
    assert one.latest(0) == 2
    assert one.latest(6) == 16
    assert one.latest(8) is None
    assert one.count(6) == 2


def test_a_much_longer_iteration_is_unrest() -> None:
    assert pace(1, 1, 1, 1, 1.5).unrest()
    assert not pace(1, 1, 1, 1, 1.2).unrest()
    assert not pace(1, 2, 2, 2, 2).unrest()
    assert not pace().unrest()


def test_before_an_onset_only_what_came_before_it_counts() -> None:
    assert pace(1, 1, 1, 5, 5, 5, 5).before(3) == 1
    assert pace(1, 1).before(0) is None


def test_the_loss_is_what_iterations_took_beyond_the_healthy() -> None:
    assert pace(1, 1, 3, 3, 0.5).lost(2, healthy=1.0) == pytest.approx(4.0)


def test_own_time_is_that_of_each_rank() -> None:
    one = pace(1, 1, 1, 2, 2, 2)
    assert one.own_before(3) == {0: 1, 1: 2, 2: 3}
    assert one.own(3) == {0: 2, 1: 4, 2: 6}
    assert one.own(9) == {}
