from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenpace.detect.changepoint import locate_onset, locate_relief


def stepped(seed, at, count=20, factor=1.4, noise=0.02):
    values = np.exp(np.random.default_rng(seed).normal(0, noise, count))
    values[at:] *= factor
    return values


@settings(deadline=None)
@given(st.integers(0, 1000), st.integers(1, 17), st.floats(1.25, 4))
def test_onset_is_found_exactly(seed, at, factor):
    found = locate_onset(stepped(seed, at, factor=factor), 1.0, 0.02)
    assert found.at == at
    assert found.confidence > 0.9


@settings(deadline=None)
@given(st.integers(0, 1000), st.integers(3, 18))
def test_relief_is_found_exactly(seed, at):
    values = stepped(seed, at, factor=1 / 1.5) * 1.5
    assert locate_relief(values, 1.0, 0.02).at == at


def test_scale_does_not_matter():
    values = stepped(1, 8)
    assert locate_onset(values * 1e-3, 1e-3, 0.02).at == locate_onset(values, 1.0, 0.02).at


def test_noise_lowers_confidence():
    quiet = locate_onset(stepped(1, 10, factor=1.15, noise=0.01), 1.0, 0.01)
    noisy = locate_onset(stepped(1, 10, factor=1.15, noise=0.1), 1.0, 0.1)
    assert noisy.confidence < quiet.confidence


def test_one_long_iteration_does_not_attract_it():
    values = stepped(2, 12)
    values[4] *= 30
    assert locate_onset(values, 1.0, 0.02).at == 12


@settings(deadline=None)
@given(st.integers(0, 1000), st.lists(st.integers(0, 30), max_size=2, unique=True))
def test_long_ones_do_not_attract_it_where_the_new_level_is_known(seed, long):
    values = stepped(seed, 40, count=52, factor=1.15, noise=0.01)
    values[long] *= 3
    assert abs(locate_onset(values, 1.0, 0.01, ratio=1.15).at - 40) <= 1


def test_a_healthy_window_has_its_onset_at_the_end():
    assert locate_onset(np.full(10, 0.99), 1.0, 0.02).at == 10


def test_an_empty_window_is_refused():
    with pytest.raises(ValueError, match="empty window"):
        locate_onset(np.array([]), 1.0, 0.02)


def test_agrees_with_an_offline_oracle():
    ruptures = pytest.importorskip("ruptures", reason="development oracle, not installed")
    for seed in range(10):
        values = stepped(seed, 5 + seed, noise=0.03)
        oracle = ruptures.Binseg(model="l2", min_size=2, jump=1).fit(np.log(values)).predict(n_bkps=1)[0]
        assert abs(locate_onset(values, 1.0, 0.03).at - oracle) <= 1
