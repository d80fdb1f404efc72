"""What counts as a jump, what adds up to a rise, and what of a stretch must stand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.detect.cusum import FEWEST, REMEMBERED, Cusum, Spikes, is_jump, limits, stands


@given(st.floats(0.001, 0.3), st.integers(5, 200), st.floats(1.01, 1.2), st.floats(0, 0.1))
def test_limits_grow_with_noise_and_what_matters(
    noise: float, count: int, floor: float, wander: float
) -> None:
    one = limits(noise, count, floor, wander)
    assert one.least >= math.log(floor) - 1e-12
    assert 0 < one.reference < one.least
    assert one.height >= FEWEST * one.reference
    assert limits(2 * noise, count, floor, wander).reference > one.reference - 1e-12
    assert limits(noise, count, floor, wander + 0.05).least >= one.least


@given(st.lists(st.floats(-1, 1), max_size=50))
def test_a_sum_never_falls_below_nothing(values: list[float]) -> None:
    one = Cusum()
    for value in values:
        one.feed(value, cap=0.1)
        assert one.total >= 0
        assert (one.total > 0) == (one.length > 0)


def test_one_long_iteration_adds_no_more_than_the_cap() -> None:
    one = Cusum()
    one.feed(5.0, cap=0.1)
    assert one.total == pytest.approx(0.1)
    one.feed(-5.0, cap=0.1)
    assert (one.total, one.length) == (0.0, 0)


def test_three_in_a_row_that_agree_are_a_jump() -> None:
    high = math.log(1.3)
    assert is_jump([0.0, 0.0, high, high, high], 0.0, noise=0.02)
    assert not is_jump([0.0, 0.0, 0.0, high, high], 0.0, noise=0.02)
    assert not is_jump([0.0, 0.0, high, high, 3 * high], 0.0, noise=0.02), "spikes seldom agree"


def test_where_long_ones_recur_more_in_a_row_are_needed() -> None:
    high = math.log(1.3)
    assert not is_jump([high, 0.0, high, 0.0, high, high, high], 0.0, noise=0.02)
    assert is_jump([high, 0.0, high, 0.0, *[high] * 4], 0.0, noise=0.02)


def test_small_ones_before_do_not_count_against_a_large_jump() -> None:
    small, high = math.log(1.15), math.log(2.0)
    assert is_jump([small, 0.0, small, 0.0, high, high, high], 0.0, noise=0.02)
    assert not is_jump([high, 0.0, high, 0.0, high, high, high], 0.0, noise=0.02)


def seen(values: list[float]) -> Spikes:
    spikes = Spikes()
    for value in values:
        spikes.feed(value, noise=0.02)
    return spikes


def test_where_long_ones_are_rare_three_in_a_row_need_not_agree() -> None:
    uneven = [0.0, 0.0, math.log(1.3), math.log(1.3), math.log(2.2)]
    assert not is_jump(uneven, 0.0, 0.02, seen([0.0] * 20)), "too little was seen"
    assert is_jump(uneven, 0.0, 0.02, seen([0.0] * 60))
    assert not is_jump(uneven, 0.0, 0.02, seen(([0.0] * 19 + [math.log(1.5)] + [0.0] * 10) * 2))
    assert is_jump(uneven, 0.0, 0.02, seen(([0.0] * 19 + [math.log(1.12)] + [0.0] * 10) * 2)), (
        "those were small"
    )


def test_the_long_ones_of_an_onset_are_not_spikes() -> None:
    uneven = [math.log(1.3), math.log(1.3), math.log(2.2)]
    assert is_jump([0.0, *uneven], 0.0, 0.02, seen([0.0] * 60 + uneven))


@given(st.lists(st.floats(-1, 1), max_size=3 * REMEMBERED))
def test_what_is_remembered_has_an_end(values: list[float]) -> None:
    spikes = seen(values)
    assert len(spikes.values) + len(spikes.last) <= 2 * REMEMBERED


def test_most_of_a_stretch_must_stand() -> None:
    now = limits(0.02, 20, 1.05)
    high = 2 * now.reference
    assert stands(np.array([0.0] * 5 + [high] * 15), now)
    assert not stands(np.array([0.0] * 10 + [high] * 10), now)
