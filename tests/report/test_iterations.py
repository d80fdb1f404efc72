from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.report.iterations import IterationLog, thin
from evenpace.watch import events as ev


def iteration(number: int, ranks: list[int], waiting: list[float]) -> ev.Iteration:
    return ev.Iteration(
        time="2026-01-01T00:00:00Z",
        incarnation=0,
        iteration=number,
        ranks=ranks,
        durations=[1.0] * len(ranks),
        busy=[0.5] * len(ranks),
        waiting=waiting,
    )


def filled(rows: int, columns: int) -> IterationLog:
    log = IterationLog()
    for i in range(columns):
        log.add(float(i), iteration(i, list(range(rows)), [float(i * rows + r) for r in range(rows)]))
    return log


def test_a_small_grid_holds_each_value() -> None:
    grid = filled(3, 4).waiting_grid([0, 1, 2], 10, 10)
    assert grid.cells.tolist() == [[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8, 11]]
    assert grid.rows == [(0, 0), (1, 1), (2, 2)]


def test_a_large_grid_holds_means_of_neighbours() -> None:
    grid = filled(4, 4).waiting_grid([0, 1, 2, 3], 2, 2)
    assert grid.cells.tolist() == [[2.5, 10.5], [4.5, 12.5]]
    assert grid.columns == [(0, 1), (2, 3)]


def test_ranks_that_are_not_there_have_no_data() -> None:
    grid = filled(2, 1).waiting_grid([0, 1, 7], 10, 10)
    assert np.isnan(grid.cells[2, 0])
    assert not np.isnan(grid.cells[:2]).any()


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 12), st.integers(1, 12))
def test_means_keep_within_the_values_and_cover_all(ranks: int, count: int, rows: int, columns: int) -> None:
    grid = filled(ranks, count).waiting_grid(list(range(ranks)), rows, columns)
    assert grid.cells.shape == (min(rows, ranks), min(columns, count))
    assert grid.rows[-1][1] == ranks - 1
    assert grid.columns[-1][1] == count - 1
    assert 0 <= grid.cells.min() <= grid.cells.max() <= ranks * count - 1


def test_means_of_the_last_iterations_only() -> None:
    log = filled(2, 10)
    assert [m.waiting for m in log.means()] == [9.0, 10.0]
    assert [m.waiting for m in log.means(last=2)] == [17.0, 18.0]
    assert [m.count for m in log.means(last=100)] == [10, 10]


def test_nonsense_in_the_log_does_no_harm() -> None:
    log = IterationLog()
    log.add(0.0, iteration(2**70, [0], [1.0]))
    log.add(0.0, iteration(1, [], []))
    log.add(0.0, iteration(2, [10**30, 3], [-5.0]))
    log.add(0.0, iteration(3, [1, 2, 3], [1e300, 1.0, 2.0]))
    assert log.numbers.tolist() == [2, 3]
    assert max(m.waiting for m in log.means()) <= 1e9
    assert log.ranks == [1, 2, 3, 10**30]
    assert log.waiting_grid(log.ranks, 2, 2).cells.shape == (2, 2)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=500), st.integers(2, 60))
def test_thinning_keeps_the_peaks(values: list[float], most: int) -> None:
    y = np.array(values)
    x, thinned = thin(np.arange(len(y), dtype=np.float64), y, most)
    assert len(x) == len(thinned) <= max(most, 2)
    assert thinned.max() == y.max()
    assert thinned.min() == y.min()
    assert (np.diff(x) > 0).all()


def test_recent_and_ends() -> None:
    log = filled(1, 5)
    assert log.recent(2).tolist() == [1.0, 1.0]
    assert (log.first_time(), log.last_time(), log.highest()) == (0.0, 4.0, 4)
    assert IterationLog().last_time() is None
    assert len(log) == pytest.approx(5)
