from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenpace.detect.workload import learn


def made(seed, fixed, rates, ranks=4, count=40, noise=0.02):
    """Iterations whose most loaded rank decides; work is [iterations, ranks, kinds]."""
    rng = np.random.default_rng(seed)
    work = rng.lognormal(0, 0.4, (count, ranks, len(rates))) * 1e4
    durations = (fixed + (work @ np.array(rates)).max(axis=1)) * np.exp(rng.normal(0, noise, count))
    return durations, work


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([1, 2, 8, 64]), st.floats(0.1, 2), st.floats(0.1, 2))
def test_work_explains_what_it_makes_longer(seed, ranks, tokens, squares):
    rates = [tokens * 1e-4, squares * 1e-4]
    durations, work = made(seed, 0.3, rates, ranks)
    found = learn(durations, work)
    assert found is not None
    new_durations, new_work = made(seed + 1, 0.3, rates, ranks, noise=0.0)
    predicted = np.array([found.factor(one) for one in new_work]) * found.usual
    assert np.median(np.abs(predicted / new_durations - 1)) < 0.05


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3))
def test_work_that_explains_nothing_is_not_used(seed, kinds):
    rng = np.random.default_rng(seed)
    durations = np.exp(rng.normal(0, 0.05, 40))
    assert learn(durations, rng.lognormal(0, 0.5, (40, 4, kinds))) is None


def test_work_that_never_varies_is_not_used():
    durations = np.exp(np.random.default_rng(0).normal(0, 0.02, 40))
    assert learn(durations, np.ones((40, 4, 2))) is None


def test_work_that_is_zero_is_not_used():
    durations = np.exp(np.random.default_rng(0).normal(0, 0.02, 40))
    assert learn(durations, np.zeros((40, 4, 2))) is None


def test_a_few_long_iterations_do_not_spoil_the_fit():
    durations, work = made(3, 0.3, [1e-4, 1e-4])
    durations[[4, 15, 22]] *= 5
    found = learn(durations, work)
    assert found is not None
    clean, fresh = made(4, 0.3, [1e-4, 1e-4], noise=0.0)
    predicted = np.array([found.factor(one) for one in fresh]) * found.usual
    assert np.median(np.abs(predicted / clean - 1)) < 0.05


def test_no_rate_is_negative():
    durations, work = made(5, 0.5, [2e-4, 0.0])
    found = learn(durations, work)
    assert found is not None
    assert found.fixed >= 0
    assert (found.rates >= 0).all()


def test_a_prediction_does_not_go_far_beyond_what_was_learned():
    durations, work = made(6, 0.3, [1e-4])
    found = learn(durations, work)
    assert found is not None
    assert found.factor(work[0] * 1e6) == pytest.approx(4.0)
