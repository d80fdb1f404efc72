from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenpace.detect.baseline import Baseline, Change, Settings, level_and_noise


def series(seed, count, noise, spikes=0.0):
    rng = np.random.default_rng(seed)
    values = np.exp(rng.normal(0, noise, count))
    long = rng.random(count) < spikes
    values[long] *= rng.uniform(1.5, 5, long.sum())
    return values


def changes(values, settings=None):
    baseline = Baseline(settings)
    steps = [baseline.feed(float(value)).change for value in values]
    return [(index, change) for index, change in enumerate(steps) if change]


@pytest.mark.parametrize(
    ("noise", "spikes"), [(0.01, 0), (0.01, 0.03), (0.02, 0.01), (0.05, 0), (0.05, 0.01)]
)
def test_healthy_jobs_do_not_alarm(noise, spikes):
    assert sum(bool(changes(series(seed, 300, noise, spikes))) for seed in range(15)) == 0


def test_very_noisy_jobs_rarely_alarm():
    assert sum(bool(changes(series(seed, 300, 0.1, 0.01))) for seed in range(20)) <= 2


@pytest.mark.parametrize(
    ("noise", "within", "at_least"), [(0.01, 3, 20), (0.02, 3, 20), (0.05, 5, 19), (0.1, 12, 18)]
)
def test_a_slowdown_of_30_percent_is_found_soon(noise, within, at_least):
    found = 0
    for seed in range(20):
        values = series(seed, 60 + within, noise)
        values[60:] *= 1.3
        found += any(change is Change.ONSET and index >= 60 for index, change in changes(values))
    assert found >= at_least


def test_onset_then_relief():
    values = series(1, 100, 0.02)
    values[40:70] *= 1.5
    found = changes(values)
    assert [change for _, change in found] == [Change.ONSET, Change.RELIEF]
    assert 40 <= found[0][0] <= 44
    assert 70 <= found[1][0] <= 74


def test_small_steps_add_up():
    values = series(2, 200, 0.01)
    for start in (60, 90, 120):
        values[start:] *= 1.06
    assert [change for _, change in changes(values)] == [Change.ONSET, Change.SHIFT]


@settings(deadline=None)
@given(st.integers(5, 90), st.integers(1, 2), st.floats(2, 50))
def test_one_or_two_long_iterations_are_a_checkpoint(at, length, factor):
    values = series(3, 100, 0.02)
    values[at : at + length] *= factor
    assert changes(values) == []


def test_warm_up_does_not_count():
    values = series(4, 60, 0.02)
    values[:3] *= 40
    baseline = Baseline()
    for value in values:
        baseline.feed(float(value))
    assert baseline.level == pytest.approx(1, rel=0.03)


def test_between_the_thresholds_nothing_changes():
    values = series(5, 120, 0.005)
    values[40:60] *= 1.2
    values[60:] *= 1.08
    assert [change for _, change in changes(values)] == [Change.ONSET]


def test_a_lasting_speed_up_is_learned_anew():
    values = series(6, 140, 0.01)
    values[50:] *= 0.6
    values[110:] *= 1.4
    assert [change for _, change in changes(values)] == [Change.FASTER, Change.ONSET]


def test_relearn_forgets():
    baseline = Baseline(Settings(learn=5))
    for value in series(7, 20, 0.01):
        baseline.feed(float(value))
    assert baseline.ready
    baseline.relearn()
    assert not baseline.ready
    assert not any(baseline.feed(3.0).change for _ in range(40))


@settings(deadline=None)
@given(st.lists(st.floats(1e-6, 1e6), min_size=2, max_size=40))
def test_level_is_within_what_was_seen(durations):
    level, noise = level_and_noise(np.array(durations))
    assert min(durations) * (1 - 1e-9) <= level <= max(durations) * (1 + 1e-9)
    assert noise >= 0.01


def test_a_quarter_of_long_iterations_does_not_spoil_the_level():
    values = series(8, 40, 0.02)
    values[::4] *= 10
    level, noise = level_and_noise(values)
    assert level == pytest.approx(1, rel=0.05)
    assert noise < 0.1


def test_small_slowdowns_count_once_the_job_was_well_for_long():
    values = series(9, 300, 0.01)
    values[200:] *= 1.08
    assert [change for _, change in changes(values)] == [Change.ONSET]
    assert 200 <= changes(values)[0][0] <= 205


def test_what_is_below_the_floor_is_not_slow():
    for seed in range(5):
        values = series(seed, 300, 0.01)
        values[200:] *= 1.03
        assert changes(values) == []


@pytest.mark.parametrize("every", [3, 4, 5, 10, 50])
@pytest.mark.parametrize("first", [0, 100])
def test_recurring_long_iterations_are_no_fault(every, first):
    for seed in range(5):
        values = series(seed, 400, 0.02)
        values[first::every] *= 2
        assert changes(values) == []


def test_every_second_long_one_is_no_fault():
    for seed in range(5):
        values = series(seed, 400, 0.02)
        values[::2] *= 2
        assert changes(values) == []


def test_a_slowdown_shows_beside_recurring_long_iterations():
    for seed in range(5):
        values = series(seed, 300, 0.02)
        values[::4] *= 2
        values[200:] *= 1.2
        found = changes(values)
        assert [change for _, change in found][:1] == [Change.ONSET]
        assert 200 <= found[0][0] <= 215


def test_a_slow_drift_is_found():
    values = series(10, 400, 0.02)
    values[200:] *= np.minimum(1.2, 1 + 0.2 * np.arange(200) / 80)
    assert changes(values)[0][1] is Change.ONSET
    assert changes(values)[0][0] < 260


def test_slower_still_and_less_slow_are_shifts():
    values = series(11, 200, 0.02)
    values[60:90] *= 1.3
    values[90:120] *= 1.8
    values[120:150] *= 1.3
    found = [change for _, change in changes(values)]
    assert found == [Change.ONSET, Change.SHIFT, Change.SHIFT, Change.RELIEF]


def test_the_ratio_is_that_of_the_slow_job():
    baseline = Baseline()
    for value in np.append(series(12, 60, 0.02), 1.5 * series(13, 30, 0.02)):
        baseline.feed(float(value))
    assert baseline.slow
    assert baseline.ratio == pytest.approx(1.5, rel=0.03)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1000), st.sampled_from([0.01, 0.02, 0.05]), st.floats(1.3, 5))
def test_onset_and_relief_once_each(seed, noise, factor):
    values = series(seed, 160, noise)
    values[60:110] *= factor
    found = [change for _, change in changes(values) if change is not Change.SHIFT]
    assert found == [Change.ONSET, Change.RELIEF]
