"""The simulated iteration: cases that can be counted by hand, and the cost model against it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from evenpace.respond.strategies.topology import cost
from evenpace.simulate.layout import Layout, iteration, order

GIGABYTE = 1e9


def layout(ranks: list[list[int]], **changes: object) -> Layout:
    stages = len(ranks)
    usual: dict[str, object] = {
        "micro_batches": 4,
        "forward": [1.0] * stages,
        "backward": [2.0] * stages,
        "activation": 0.0,
        "gradients": [0.0] * stages,
        "bandwidth": GIGABYTE,
    }
    return Layout(ranks, **{**usual, **changes})  # type: ignore[arg-type]


def test_one_stage_does_one_micro_batch_after_the_other() -> None:
    assert iteration(layout([[0]])) == 4 * 3


def test_a_pipeline_fills_and_drains() -> None:
    assert iteration(layout([[0], [1]])) == 3 + 4 * 3


def test_a_ring_carries_almost_twice_the_gradients_over_each_link() -> None:
    reduced = iteration(layout([[0, 1, 2, 3]], gradients=[GIGABYTE]))
    assert reduced == pytest.approx(4 * 3 + 2 * 3 / 4)


def test_a_ring_goes_at_the_pace_of_its_slowest_link() -> None:
    slow = layout([[0, 1, 2, 3]], gradients=[GIGABYTE], links={(1, 2): 5.0})
    assert iteration(slow) == pytest.approx(4 * 3 + 5 * 2 * 3 / 4)


def test_a_message_to_the_next_stage_takes_its_time_there_and_back() -> None:
    assert iteration(layout([[0], [1]], micro_batches=1, activation=GIGABYTE)) == 2 * 3 + 2


def test_the_order_is_fill_one_of_each_drain() -> None:
    assert order(0, 2, 3) == [
        *(("forward", 0), ("forward", 1), ("backward", 0)),
        *(("forward", 2), ("backward", 1), ("backward", 2)),
    ]


@some.composite
def jobs(draw: some.DrawFn) -> Layout:
    stages, replicas = draw(some.integers(1, 5)), draw(some.integers(1, 4))
    size = stages * replicas
    factor = some.floats(1.1, 3.0)
    factors = draw(some.dictionaries(some.integers(0, size - 1), factor, max_size=2))
    pairs = some.tuples(some.integers(0, size - 1), some.integers(0, size - 1)).filter(lambda p: p[0] != p[1])
    one_way = draw(some.dictionaries(pairs, some.floats(1.5, 10), max_size=2)) if size > 1 else {}
    links = {pair: 4.0 for edge in one_way for pair in (edge, edge[::-1])}
    ranks = np.array(draw(some.permutations(range(size)))).reshape(stages, replicas)
    return layout(
        ranks.tolist(),
        micro_batches=draw(some.integers(1, 12)),
        forward=draw(some.lists(some.floats(0.5, 1.5), min_size=stages, max_size=stages)),
        activation=draw(some.sampled_from([0.0, 0.05, 0.5])) * GIGABYTE,
        gradients=draw(some.lists(some.floats(0.0, 5e9), min_size=stages, max_size=stages)),
        factors=factors,
        links=links,
    )


@given(jobs())
def test_the_cost_model_says_the_same(made: Layout) -> None:
    """Where a link is slow and pipelines end at different times, a ring may end earlier than said."""
    shape = cost.Shape(
        *(len(made.ranks[0]), made.micro_batches, np.array(made.forward), np.array(made.backward)),
        *(made.activation, np.array(made.gradients), made.bandwidth),
    )
    ranks = np.array(made.ranks)
    said = float(cost.iteration(shape, cost.Condition.of(ranks.size, made.factors, made.links), ranks))
    simulated = iteration(made)
    assert said >= simulated * (1 - 1e-9)
    if not made.links or ranks.shape[1] == 1:
        assert said == pytest.approx(simulated)
