from __future__ import annotations

import numpy as np
import pytest

from evenpace.detect.robust import line_through, medians, noise_of, running_median, standard_error


def test_noise_is_that_of_neighbours():
    values = np.random.default_rng(1).normal(0, 0.02, 2000)
    assert noise_of(values) == pytest.approx(0.02, rel=0.1)
    assert noise_of(values + (np.arange(2000) > 900)) == pytest.approx(0.02, rel=0.1)


def test_a_running_median_passes_over_single_points():
    values = np.zeros(50)
    values[20] = 9
    assert not running_median(values, 5).any()


def test_blocks():
    assert list(medians(np.array([1.0, 1, 9, 2, 2, 2, 5]), 3)) == [1, 2]


def test_wandering_noise_has_a_larger_standard_error():
    rng = np.random.default_rng(2)
    white = rng.normal(0, 0.02, 1000)
    wandering = np.cumsum(rng.normal(0, 0.005, 1000))
    assert standard_error(wandering, 100) > 3 * standard_error(white, 100)


def test_a_line_goes_through_both_ends():
    line = line_through(np.linspace(1, 2, 90))
    assert line[0] == pytest.approx(1, abs=0.02)
    assert line[-1] == pytest.approx(2, abs=0.02)
