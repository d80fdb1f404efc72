"""The search finds what trying everything finds, never beats its bound, and moves nobody for nothing."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from evenpace.respond.strategies.topology.cost import Condition, Shape, iteration
from evenpace.respond.strategies.topology.search import AS_GOOD, search
from evenpace.respond.strategies.topology.swaps import Assignment

GRIDS = ((2, 2), (2, 3), (3, 2), (1, 4), (4, 1))


def shape(stages: int, replicas: int, micro_batches: int = 8, ring: float = 2.0) -> Shape:
    each = np.full(stages, 0.01)
    gradients = np.full(stages, ring * 0.03 * micro_batches * 1e9 / 10)
    return Shape(replicas, micro_batches, each, 2 * each, 2e5, gradients, 1e9)


def seats(stages: int, replicas: int) -> np.ndarray:
    return np.arange(stages * replicas).reshape(stages, replicas)


@some.composite
def troubles(draw: some.DrawFn) -> tuple[Shape, Condition, np.ndarray]:
    stages, replicas = draw(some.sampled_from(GRIDS))
    size = stages * replicas
    rank = some.integers(0, size - 1)
    factors = draw(some.dictionaries(rank, some.floats(1.1, 3.0), max_size=3))
    links = draw(some.dictionaries(some.tuples(rank, rank), some.floats(1.5, 10.0), max_size=3))
    links = {pair: factor for pair, factor in links.items() if pair[0] != pair[1]}
    current = np.array(draw(some.permutations(range(size)))).reshape(stages, replicas)
    made = shape(stages, replicas, draw(some.integers(1, 12)), draw(some.floats(0.0, 5.0)))
    return made, Condition.of(size, factors, links), current


@settings(max_examples=60)
@given(troubles())
def test_it_is_as_good_as_trying_everything(trouble: tuple[Shape, Condition, np.ndarray]) -> None:
    made, condition, current = trouble
    found = search(made, condition, current)
    every = np.array(list(permutations(range(current.size)))).reshape(-1, *current.shape)
    best = float(iteration(made, condition, every).min())
    assert sorted(found.ranks.ravel()) == list(range(current.size))
    assert found.seconds == pytest.approx(float(iteration(made, condition, found.ranks)))
    assert found.bound <= best * (1 + 1e-9)
    assert found.seconds <= best * (1 + AS_GOOD) * (1 + 1e-9)


@given(troubles())
def test_judging_swaps_is_judging_what_they_lead_to(trouble: tuple[Shape, Condition, np.ndarray]) -> None:
    made, condition, current = trouble
    at = Assignment(made, condition, current)
    pairs = np.array([(a, b) for a in range(current.size) for b in range(current.size) if a != b])
    outcome = at.outcomes(pairs)
    after = [at.swapped(pair) for pair in pairs]
    np.testing.assert_allclose(outcome.seconds, [one.seconds for one in after])
    np.testing.assert_allclose(outcome.total, [one.total for one in after])


def test_a_slow_link_of_a_ring_is_left_out_by_the_order_of_its_members() -> None:
    found = search(shape(2, 4), Condition.of(8, {}, {(1, 2): 8.0}), seats(2, 4))
    assert found.seconds == pytest.approx(found.bound)
    assert found.moved == 0
    assert (found.ranks != seats(2, 4)).sum() == 2


def test_in_a_ring_of_two_one_of_them_goes_to_another_stage() -> None:
    found = search(shape(4, 2), Condition.of(8, {}, {(2, 3): 8.0}), seats(4, 2))
    assert found.seconds == pytest.approx(found.bound)
    assert found.moved == 2


def test_slow_ranks_of_one_pipeline_are_spread_over_the_replicas() -> None:
    slow = {5: 2.0, 13: 2.0, 21: 2.0, 29: 2.0}
    found = search(shape(16, 8), Condition.of(128, slow, {}), seats(16, 8))
    where = np.argwhere(np.isin(found.ranks, list(slow)))
    assert len({replica for _, replica in where}) == len(slow)
    assert found.seconds == pytest.approx(found.bound, rel=AS_GOOD)


def test_nobody_moves_where_nothing_is_slow_or_nothing_can_be_gained() -> None:
    healthy = search(shape(4, 4), Condition.of(16, {}, {}), seats(4, 4))
    alone = search(shape(1, 4), Condition.of(4, {2: 2.0}, {}), seats(1, 4))
    assert (healthy.ranks == seats(4, 4)).all()
    assert (alone.ranks == seats(1, 4)).all()


def test_the_same_question_has_the_same_answer() -> None:
    condition = Condition.of(32, {3: 1.5, 9: 2.0, 10: 1.7}, {(1, 2): 8.0, (20, 21): 3.0})
    first, second = (search(shape(4, 8), condition, seats(4, 8)) for _ in range(2))
    assert (first.ranks == second.ranks).all()
