from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenpace.detect.shape import Kind, shape_of

SEEDS = st.integers(0, 10**6)


def healthy(seed, count, noise=0.02, spikes=0.01):
    rng = np.random.default_rng(seed)
    durations = np.exp(rng.normal(0, noise, count))
    long = rng.random(count) < spikes
    durations[long] *= rng.uniform(1.5, 20, long.sum())
    return durations


@pytest.mark.parametrize("count", [5, 12, 25, 100, 400])
def test_healthy_series_have_no_shape(count):
    found = [shape_of(healthy(seed, count)).kind for seed in range(400)]
    assert sum(kind is not Kind.NONE for kind in found) <= 2


@pytest.mark.parametrize("count", [100, 400])
def test_lasting_steps_of_a_tenth_are_found(count):
    found = 0
    for seed in range(300):
        durations = healthy(seed, count)
        at = int(np.random.default_rng(seed).integers(count // 10, count - count // 10))
        durations[at:] *= 1.1
        shape = shape_of(durations)
        found += shape.kind is Kind.STEP and abs(shape.onset - at) <= 5
    assert found >= 297


@settings(deadline=None, max_examples=40)
@given(SEEDS, st.floats(1.3, 4.0))
def test_steps_stand_out_of_strong_noise(seed, factor):
    durations = healthy(seed, 120, noise=0.05)
    durations[70:] *= factor
    shape = shape_of(durations)
    assert shape.kind is Kind.STEP
    assert shape.ratio == pytest.approx(factor, rel=0.08)


def test_few_points_suffice_for_an_unmistakable_step():
    shape = shape_of(np.array([50.02, 50.01, 50.05, 50.9, 53.5, 53.6, 53.55]))
    assert shape.kind is Kind.STEP
    assert shape.onset == 4
    assert shape_of(np.array([50.02, 50.01, 50.05, 50.9, 51.5, 50.1, 50.05])).kind is Kind.NONE
    assert shape_of(np.array([50.0, 50.0, 60.0])).kind is Kind.NONE


def test_few_points_that_slow_down_one_after_another():
    shape = shape_of(np.array([1.0, 1.01, 1.1, 1.25, 1.4, 1.52, 1.53, 1.535]))
    assert shape.kind is Kind.STEP
    assert shape.onset == 3
    assert shape_of(np.array([1.0, 1.08, 1.16, 1.25, 1.33, 1.42, 1.5])).kind is Kind.DRIFT
    assert shape_of(np.array([1.0, 1.01, 1.0, 1.02, 1.0, 1.01, 1.3])).kind is Kind.NONE


def test_warm_up_is_no_shape():
    durations = healthy(3, 60, spikes=0)
    durations[:3] *= [40, 3, 1.3]
    assert shape_of(durations).kind is Kind.NONE


def test_a_job_that_becomes_faster_has_no_shape():
    durations = healthy(4, 200)
    durations[100:] *= 0.7
    assert shape_of(durations).kind is Kind.NONE


@settings(deadline=None, max_examples=30)
@given(SEEDS, st.floats(1.2, 2.0))
def test_drift(seed, factor):
    shape = shape_of(healthy(seed, 300) * np.linspace(1, factor, 300))
    assert shape.kind is Kind.DRIFT
    assert shape.ratio == pytest.approx(factor, rel=0.1)
    assert shape.rate > 0


@settings(deadline=None, max_examples=30)
@given(SEEDS, st.integers(25, 90))
def test_sawtooth(seed, period):
    at = np.arange(6 * period)
    shape = shape_of(healthy(seed, len(at)) * (1 + 0.4 * (at % period) / period))
    assert shape.kind is Kind.SAWTOOTH
    assert shape.period == pytest.approx(period, rel=0.1)


def test_evaluations_are_periodic_and_not_a_step():
    durations = healthy(7, 500, spikes=0)
    durations[49::50] *= 6
    shape = shape_of(durations)
    assert shape.kind is Kind.PERIODIC
    assert shape.period == 50
    assert shape.share == pytest.approx(0.09, abs=0.02)


def test_a_slow_stretch_is_an_episode():
    durations = healthy(8, 300)
    durations[120:170] *= 1.6
    shape = shape_of(durations)
    assert shape.kind is Kind.EPISODE
    assert abs(shape.onset - 120) <= 3
    assert abs(shape.end - 170) <= 5


def test_below_what_was_expected():
    durations = healthy(9, 100)
    assert shape_of(durations, (0.4, 0.6)).kind is Kind.LEVEL
    assert shape_of(durations, (0.9, 1.1)).kind is Kind.NONE
    durations[50:] *= 1.5
    assert shape_of(durations, (0.9, 1.1)).kind is Kind.STEP


@settings(deadline=None)
@given(st.lists(st.floats(width=32), max_size=120))
def test_any_numbers_are_taken(values):
    shape = shape_of(np.array(values, dtype=float))
    assert 0 <= shape.onset <= max(0, len(values) - 1)
    assert shape.end <= len(values)
    assert all(0 <= at < len(values) for at in shape.indices)
