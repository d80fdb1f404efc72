from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from evenpace.detect.peers import outliers


def job(factors, noise=0.03, iterations=10, seed=0):
    rng = np.random.default_rng(seed)
    busy = np.array(factors) * np.exp(rng.normal(0, noise, (iterations, len(factors))))
    last = busy.max(axis=1, keepdims=True)
    return busy, last - busy, last[:, 0] + 0.2


def named(factors, roles=None, **options):
    busy, waiting, durations = job(factors, **options)
    return [one.position for one in outliers(busy, waiting, durations, roles or ["w"] * len(factors))]


@settings(deadline=None)
@given(st.integers(3, 12), st.data(), st.floats(1.5, 5), st.integers(0, 1000))
def test_the_slow_one_is_named(ranks, data, factor, seed):
    victim = data.draw(st.integers(0, ranks - 1))
    factors = [factor if rank == victim else 1.0 for rank in range(ranks)]
    assert named(factors, seed=seed) == [victim]


@settings(deadline=None)
@given(st.integers(2, 12), st.floats(0, 0.08), st.integers(0, 1000))
def test_nobody_in_a_healthy_job(ranks, noise, seed):
    assert named([1.0] * ranks, noise=noise, seed=seed) == []


def test_other_roles_are_not_peers():
    assert named([1, 1, 1, 2, 2, 2], ["first"] * 3 + ["last"] * 3) == []


def test_a_rank_without_peers_is_not_judged():
    assert named([1, 1, 5], ["a", "a", "b"]) == []


def test_one_of_two_must_be_very_clear():
    assert named([1.0, 1.4]) == []
    assert named([1.0, 2.0]) == [1]


def test_half_of_the_ranks():
    assert named([1, 1, 1, 1, 2, 2, 2, 2]) == [4, 5, 6, 7]


def test_nobody_waits_so_nobody_is_blamed():
    busy, waiting, durations = job([1, 1, 1, 2])
    assert outliers(busy, np.zeros_like(waiting), durations, ["w"] * 4) == []


def test_a_short_burst_is_not_from_the_start():
    busy, waiting, durations = job([1, 1, 1, 1])
    busy[:4, 2] *= 3
    assert outliers(busy, waiting, durations, ["w"] * 4) == []
