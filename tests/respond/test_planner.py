"""The planner: nothing before its price is earned, and nothing that cannot help."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.respond.planner import Level, Standing, choose, rate

SECONDS = st.floats(0.01, 100.0)
CHEAP = Level("micro-batches", cost=2.0, iteration=1.2)
DEAR = Level("restart", cost=60.0, iteration=1.0)


def play(levels: list[Level], healthy: float, slow: float, iterations: int) -> tuple[float, list[str]]:
    """Live through a slowness of so many iterations; return all that was lost, and what was done."""
    now, lost, total = slow, 0.0, 0.0
    done: list[str] = []
    for _ in range(iterations):
        lost, total = lost + now - healthy, total + now - healthy
        level = choose(Standing(healthy, now, lost), levels)
        if level is not None:
            done.append(level.name)
            now, lost, total = level.iteration, 0.0, total + level.cost
    return total, done


def test_nothing_is_done_before_it_would_have_paid() -> None:
    assert choose(Standing(1.0, 2.0, lost=2.0), [CHEAP, DEAR]) is None
    assert choose(Standing(1.0, 2.0, lost=2.6), [CHEAP, DEAR]) == CHEAP


def test_only_the_part_of_the_loss_counts_that_would_have_been_saved() -> None:
    half = Level("half", cost=2.0, iteration=1.5)
    assert choose(Standing(1.0, 2.0, lost=3.9), [half]) is None
    assert choose(Standing(1.0, 2.0, lost=4.0), [half]) == half


def test_what_cannot_help_is_skipped_however_much_was_lost() -> None:
    useless = Level("topology", cost=1.0, iteration=1.95)
    assert choose(Standing(1.0, 2.0, lost=1e6), [useless]) is None
    assert choose(Standing(1.0, 2.0, lost=1e6), [useless, DEAR]) == DEAR


def test_a_job_at_its_healthy_pace_needs_nothing() -> None:
    assert choose(Standing(1.0, 1.0, lost=5.0), [CHEAP, DEAR]) is None
    assert choose(Standing(1.0, 0.9, lost=5.0), [CHEAP, DEAR]) is None


def test_from_cheap_to_dear_as_the_slowness_lasts() -> None:
    assert play([CHEAP, DEAR], 1.0, 2.0, 10)[1] == ["micro-batches"]
    assert play([CHEAP, DEAR], 1.0, 2.0, 1000)[1] == ["micro-batches", "restart"]


def test_the_best_of_several_that_are_due_is_taken() -> None:
    better = Level("better", cost=2.5, iteration=1.0)
    assert choose(Standing(1.0, 2.0, lost=40.0), [CHEAP, better]) == better


@given(healthy=SECONDS, excess=SECONDS, cost=SECONDS, iterations=st.integers(1, 400))
def test_one_cure_costs_at_most_twice_what_the_best_in_hindsight_would(
    healthy: float, excess: float, cost: float, iterations: int
) -> None:
    cure = Level("cure", cost, healthy)
    total, _ = play([cure], healthy, healthy + excess, iterations)
    best = min(cost, excess * iterations)
    assert total <= 2 * best + excess + 1e-6  # it is looked at once an iteration


@given(
    healthy=SECONDS,
    excess=SECONDS,
    cures=st.lists(st.tuples(SECONDS, st.floats(0.0, 1.0)), min_size=1, max_size=4),
    iterations=st.integers(1, 400),
)
def test_cures_never_cost_more_than_the_slowness_did(
    healthy: float, excess: float, cures: list[tuple[float, float]], iterations: int
) -> None:
    levels = [Level(str(at), cost, healthy + left * excess) for at, (cost, left) in enumerate(cures)]
    total, done = play(levels, healthy, healthy + excess, iterations)
    spent = sum(levels[int(name)].cost for name in done)
    assert spent <= total - spent + 1e-6
    assert total <= 2 * excess * iterations + 1e-6


@pytest.mark.parametrize(("iteration", "expected"), [(2.0, 0.5), (1.0, 0.0), (0.5, 0.0), (0.0, 0.0)])
def test_the_rate_is_what_goes_on_being_lost(iteration: float, expected: float) -> None:
    assert rate(Level("one", 0.0, iteration), 1.0) == expected
