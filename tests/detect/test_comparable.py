"""Groups and pairs compared: with their cohort, and with their own healthy past."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenpace.detect.comparable import Instances, Traffic, add_up, compare

MS = 1_000_000


def instances(rows):
    """Rows are (group, source, target, begin, end, last, bytes, what), times in milliseconds."""
    columns = np.array(rows, np.int64).T
    group, source, target, begin, end, last, moved, what = columns
    return Instances(group, source, target, begin * MS, end * MS, last, moved, what.astype(np.uint64))


def iteration(seconds, rng=None, noise=0.02, last=0):
    """Return the traffic of groups 0, 1, …, equal in work, whose transfers take `seconds`."""
    factors = np.exp(rng.normal(0, noise, len(seconds))) if rng else np.ones(len(seconds))
    rows = [
        (g, -1, -1, 0, 1000 * s * f, last, 100, 7)
        for g, (s, f) in enumerate(zip(seconds, factors, strict=True))
    ]
    return add_up(instances(rows))


def test_transfers_under_way_together_count_once():
    traffic = add_up(
        instances(
            [
                (3, -1, -1, 10, 30, 1, 100, 7),
                (3, -1, -1, 20, 40, 2, 50, 8),
                (3, -1, -1, 60, 70, 2, 50, 8),
                (3, 0, 1, 0, 5, 1, 9, 9),
            ]
        )
    )
    by_pair = dict(
        zip(traffic.source.tolist(), zip(traffic.seconds, traffic.bytes, strict=True), strict=True)
    )
    assert by_pair == {-1: (pytest.approx(0.04), 200), 0: (pytest.approx(0.005), 9)}


def test_an_iteration_without_operations():
    nothing = np.zeros(0, np.int64)
    traffic = add_up(Instances(*[nothing] * 7, nothing.astype(np.uint64)))
    assert len(traffic.keys) == 0
    assert compare([traffic], [traffic]) == []
    assert compare([], []) == []


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 12), st.data(), st.floats(1.3, 10), st.integers(0, 1000))
def test_the_slow_group_of_a_cohort_is_suspicious(groups, data, factor, seed):
    rng = np.random.default_rng(seed)
    odd = data.draw(st.integers(0, groups - 1))
    healthy = [iteration([0.1] * groups, rng) for _ in range(30)]
    slow = [iteration([0.1 * (factor if g == odd else 1) for g in range(groups)], rng) for _ in range(3)]
    found = compare(healthy, slow)
    assert [one.group for one in found if one.suspicious] == [odd]
    assert found[0].group == odd
    assert found[0].expected == pytest.approx(0.1, rel=0.1)
    assert found[0].growth == pytest.approx(0.1 * (factor - 1), rel=0.5)


def test_a_cohort_that_grew_together_is_not_suspicious_but_grew():
    rng = np.random.default_rng(1)
    found = compare([iteration([0.1] * 4, rng)] * 30, [iteration([0.3] * 4, rng)] * 3)
    assert not any(one.suspicious for one in found)
    assert all(one.growth > 0.15 for one in found)


def test_a_group_of_its_own_is_compared_with_its_past():
    rng = np.random.default_rng(2)
    healthy = [iteration([0.1], rng) for _ in range(30)]
    grown, same = (
        compare(healthy, [iteration([0.2], rng)] * 3)[0],
        compare(healthy, [iteration([0.1], rng)] * 3)[0],
    )
    assert (grown.suspicious, same.suspicious) == (True, False)
    assert grown.expected == pytest.approx(0.1, rel=0.1)


def test_one_that_was_always_slower_than_its_cohort_is_not_suspicious():
    rng = np.random.default_rng(3)
    seconds = [0.1, 0.1, 0.1, 0.15]
    found = compare([iteration(seconds, rng) for _ in range(30)], [iteration(seconds, rng) for _ in range(5)])
    assert not any(one.suspicious for one in found)


def test_without_a_past_the_cohort_decides():
    found = compare([], [iteration([0.1, 0.1, 0.1, 0.2])] * 3)
    assert [one.group for one in found if one.suspicious] == [3]


def test_other_work_is_another_cohort_and_pairs_are_not_collectives():
    rows = [(0, -1, -1, 0, 10, 0, 5, 7), (1, -1, -1, 0, 10, 0, 5, 8), (2, 0, 1, 0, 10, 0, 5, 7)]
    assert len({one.cohort for one in compare([], [add_up(instances(rows))])}) == 3


def test_who_entered_last_most_often():
    slow = [iteration([0.1, 0.1], last=last) for last in (3, 2, 3)]
    assert {(one.last, round(one.share_last, 2)) for one in compare([], slow)} == {(3, 0.67)}


def test_a_group_that_is_not_in_every_iteration_is_left_out():
    assert [one.group for one in compare([], [iteration([0.1] * 2), iteration([0.1])])] == [0]


def test_traffic_is_immutable():
    with pytest.raises(AttributeError):
        iteration([0.1]).seconds = np.zeros(1)  # type: ignore[misc]
    assert isinstance(iteration([0.1]), Traffic)
