"""The solver finds the least longest time: beside brute force, and with the least change."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.respond.strategies.microbatches.solver import even, solve, times


def brute(fixed: np.ndarray, each: np.ndarray, total: int, minimum: int) -> tuple[float, list[np.ndarray]]:
    """Return the least longest time, and all counts that reach it."""
    choices = itertools.product(range(minimum, total + 1), repeat=len(each))
    split = [np.array(counts) for counts in choices if sum(counts) == total]
    longest = [float(times(fixed, each, counts).max()) for counts in split]
    return min(longest), [one for one, time in zip(split, longest, strict=True) if time == min(longest)]


def check(fixed: np.ndarray, each: np.ndarray, total: int, minimum: int, present: list[int] | None) -> None:
    best, optima = brute(fixed, each, total, minimum)
    found = solve(fixed, each, total, minimum=minimum, present=present)
    assert found.seconds == best
    assert any(np.array_equal(found.counts, one) for one in optima)
    wanted = even(total, len(each)) if present is None else np.array(present)
    changes = [int(np.abs(one - wanted).sum()) for one in optima]
    assert int(np.abs(found.counts - wanted).sum()) == min(changes)


@pytest.mark.parametrize("seed", range(300))
def test_it_is_optimal_beside_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    replicas = int(rng.integers(1, 5))
    total = int(rng.integers(replicas, 13))
    each = rng.uniform(0.05, 2, replicas).round(int(rng.integers(2, 8)))
    fixed = rng.uniform(0, 3, replicas).round(1) * (seed % 2)
    check(fixed, each, total, 1, None)


seconds = st.one_of(st.sampled_from([0.1, 0.2, 0.3, 0.6, 1.0, 1.5]), st.floats(2**-10, 1024, width=32))


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[float], list[float], int, int, list[int] | None]:
    replicas = draw(st.integers(1, 4))
    minimum = draw(st.integers(0, 2))
    total = draw(st.integers(max(1, replicas * minimum), 10 + 2 * minimum))
    fixed = draw(st.lists(st.just(0.0) | seconds, min_size=replicas, max_size=replicas))
    each = draw(st.lists(seconds, min_size=replicas, max_size=replicas))
    present = draw(st.none() | st.lists(st.integers(0, 12), min_size=replicas, max_size=replicas))
    return fixed, each, total, minimum, present


@given(cases())
def test_whatever_the_times(case: tuple[list[float], list[float], int, int, list[int] | None]) -> None:
    fixed, each, total, minimum, present = case
    check(np.array(fixed), np.array(each), total, minimum, present)


def test_equal_replicas_keep_even_counts() -> None:
    assert solve([0.0] * 4, [0.1] * 4, 10).counts.tolist() == [3, 3, 2, 2]


def test_counts_that_are_optimal_already_are_kept() -> None:
    first = solve([0.0] * 4, [0.1, 0.1, 0.1, 0.17], 32)
    again = solve([0.0] * 4, [0.1, 0.1, 0.1, 0.17], 32, present=first.counts.tolist())
    assert first.counts.tolist() == again.counts.tolist()
    assert first.counts[3] < 8


def test_a_replica_that_cannot_keep_up_still_gets_the_minimum() -> None:
    found = solve([0.0, 0.0, 50.0], [1.0, 1.0, 9.0], 12)
    assert found.counts.tolist()[2] == 1
    assert found.seconds == 59.0


def test_thousands_of_replicas_reach_the_bound() -> None:
    each = np.full(4096, 0.1)
    each[:40] *= 1.6
    found = solve(np.zeros(4096), each, 4096 * 16)
    assert found.counts.sum() == 4096 * 16
    assert found.seconds <= 0.1 * 16 / (1 - 40 / 4096 + 40 / 4096 / 1.6) + 0.16


@pytest.mark.parametrize(
    ("fixed", "each", "total", "why"),
    [
        ([0.0], [0.0], 4, "above 0"),
        ([float("nan")], [1.0], 4, "finite"),
        ([0.0], [float("inf")], 4, "finite"),
        ([0.0, 0.0], [1.0, 1.0], 1, "too few"),
        ([0.0], [1.0, 1.0], 4, "same length"),
        ([], [], 0, "same length"),
    ],
)
def test_what_cannot_be_solved_is_refused(
    fixed: list[float], each: list[float], total: int, why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        solve(fixed, each, total)
