"""What more or less work explains is taken out of own times, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenpace.detect.fromstart import FromStart
from evenpace.detect.growth import Stretch
from evenpace.detect.levelling import level, level_peers, slopes


def job(seed, iterations=30, ranks=8, noise=0.01, cost=0.5):
    rng = np.random.default_rng(seed)
    work = rng.uniform(0.5, 1.5, (iterations, ranks, 1))
    return (0.5 + cost * work[:, :, 0]) * np.exp(rng.normal(0, noise, (iterations, ranks))), work


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.floats(0.1, 2))
def test_the_cost_of_work_is_learned(seed, cost):
    busy, work = job(seed, cost=cost)
    assert slopes(busy - np.median(busy, axis=0), work - np.median(work, axis=0)) == pytest.approx(
        [cost], rel=0.1
    )


def test_levelled_times_do_not_depend_on_work():
    (healthy, work), (slow, more) = job(1), job(2)
    before, after = level(healthy, slow, work, more)
    for levelled, raw in ((before, healthy), (after, slow)):
        assert levelled.std(axis=0).mean() < 0.3 * raw.std(axis=0).mean()
    assert level_peers(slow, more).std(axis=1).mean() < 0.3 * slow.std(axis=1).mean()


def test_two_kinds_of_work():
    rng = np.random.default_rng(3)
    work = rng.uniform(0, 1, (40, 8, 2))
    busy = 1 + work @ np.array([0.2, 0.7]) + rng.normal(0, 0.005, (40, 8))
    assert slopes(busy - busy.mean(), work - work.mean(axis=(0, 1))) == pytest.approx([0.2, 0.7], abs=0.02)


def test_work_that_explains_nothing_changes_nothing():
    rng = np.random.default_rng(4)
    busy, work = rng.normal(0, 1, (30, 8)), rng.uniform(0, 1, (30, 8, 1))
    assert slopes(busy, work) == pytest.approx([0.0])
    assert slopes(busy, np.ones((30, 8, 1))) == pytest.approx([0.0])


def test_more_work_never_takes_less_time():
    busy, work = job(5)
    assert slopes(-(busy - busy.mean()), work - work.mean()) == pytest.approx([0.0])


def test_a_few_long_iterations_teach_nothing():
    busy, work = job(6)
    busy[3] *= 20
    assert slopes(busy - np.median(busy, axis=0), work - np.median(work, axis=0)) == pytest.approx(
        [0.5], rel=0.1
    )


@pytest.mark.parametrize(("known", "named"), [(False, (3,)), (True, ())])
def test_experts_in_demand_are_not_slow_from_the_start(known, named):
    """Rank 3 gets twice the tokens: without knowing that, it looks slow."""
    rng = np.random.default_rng(7)
    load = rng.uniform(0.8, 1.2, (15, 8, 1)) * np.where(np.arange(8) == 3, 2.0, 1.0)[:, None]
    busy = (0.1 + load[:, :, 0]) * np.exp(rng.normal(0, 0.01, (15, 8)))
    waiting = busy.max(axis=1, keepdims=True) - busy
    stretch = Stretch((busy + waiting)[:, 0], busy, waiting, np.zeros((15, 8)), {}, load if known else None)
    told = FromStart(range(8), ["w"] * 8, {rank: f"n{rank}" for rank in range(8)}).feed(stretch)
    assert (told[0].culprits if told else ()) == named
