"""A sample under uneven micro-batches is turned into that of even ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.detect.sample import Sample


def synchronous(counts, each, fixed=0.05):
    """Return an iteration in which all wait for whoever computes longest."""
    counts, each = np.array(counts, float), np.array(each, float)
    busy = fixed + counts * each
    duration = np.full(len(counts), busy.max() + 0.01)
    return Sample(7, duration, busy, busy.max() - busy, np.full(len(counts), 0.01), counts=counts, each=each)


TIMES = st.lists(st.floats(0.001, 0.1), min_size=2, max_size=16)


@given(TIMES, st.data())
def test_it_is_as_if_the_plan_were_not_there(each, data):
    even = [8] * len(each)
    moved = data.draw(st.lists(st.integers(-7, 7), min_size=len(each) - 1, max_size=len(each) - 1))
    counts = [8 + more for more in [*moved, -sum(moved)]]
    if counts[-1] < 1:
        return
    found, wanted = synchronous(counts, each).evened(), synchronous(even, each)
    for name in ("durations", "busy", "waiting", "transfer"):
        assert getattr(found, name) == pytest.approx(getattr(wanted, name), abs=1e-9)
    assert found.evened() is found


def test_work_is_evened_with_it():
    sample = replace(synchronous([4, 12], [0.02, 0.01]), tokens=np.array([400.0, 1200.0]))
    assert sample.evened().tokens.tolist() == [800, 800]


@pytest.mark.parametrize("factor", [1e3, 1e9, 1e300])
def test_micro_batches_took_no_longer_than_their_iteration(factor):
    sample = synchronous([4, 12], [0.02, 0.01])
    evened = replace(sample, each=sample.each * factor).evened()
    assert evened.sound
    assert evened.duration <= 8 / 4 * sample.duration
    assert evened.busy.max() <= sample.busy.max() + sample.duration


@pytest.mark.parametrize("counts", [None, np.array([8.0, 8.0]), np.array([0.0, 16.0])])
def test_without_a_plan_it_stays_as_it_is(counts):
    sample = replace(synchronous([8, 8], [0.02, 0.01]), counts=counts)
    assert sample.evened() is sample
