"""The iterations of one incarnation, kept flat: memory grows with the log, whatever ranks it claims."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np
from numpy.typing import NDArray

from evenpace.watch.events import Iteration

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LONGEST = 1e9  # seconds; what is longer, or negative, is no measurement


def _sane(seconds: float) -> float:
    return min(max(seconds, 0.0), _LONGEST)


@dataclass(frozen=True, slots=True)
class Grid:
    """Mean seconds per cell; a row is a run of neighbouring ranks, a column of neighbouring iterations.

    `cells` is rows by columns with NaN where nothing was measured. `rows` and `columns` hold the first
    and last index (into the ranks asked for and the iterations of the log) of each.
    """

    cells: Floats
    rows: list[tuple[int, int]]
    columns: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class WorkerMeans:
    """Mean seconds an iteration of one worker, over `count` iterations."""

    rank: int
    count: int
    duration: float
    busy: float
    waiting: float


class IterationLog:
    """Collect iteration events; answer with arrays of one value per iteration, in the order of the log."""

    def __init__(self) -> None:
        self._times = array("d")
        self._numbers = array("q")
        self._durations = array("d")
        self._ends = array("q")  # where the workers of each iteration end in the flat arrays below
        self._columns = array("q")
        self._flat_durations = array("d")
        self._busy = array("d")
        self._waiting = array("d")
        self._column_of: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._times)

    def add(self, time: float, event: Iteration) -> None:
        """Append one iteration that was complete at `time` (seconds since the epoch)."""
        rows = list(zip(event.ranks, event.durations, event.busy, event.waiting, strict=False))
        if not rows or not -(2**63) <= event.iteration < 2**63:
            return
        for rank, duration, busy, waiting in rows:
            self._columns.append(self._column_of.setdefault(rank, len(self._column_of)))
            self._flat_durations.append(_sane(duration))
            self._busy.append(_sane(busy))
            self._waiting.append(_sane(waiting))
        self._times.append(time)
        self._numbers.append(event.iteration)
        self._durations.append(median(self._flat_durations[-len(rows) :]))
        self._ends.append(len(self._columns))

    @property
    def ranks(self) -> list[int]:
        """Return the ranks seen, ascending."""
        return sorted(self._column_of)

    @property
    def times(self) -> Floats:
        """Return when each iteration was complete, in seconds since the epoch."""
        return np.array(self._times, dtype=np.float64)

    @property
    def numbers(self) -> Ints:
        """Return the number of each iteration."""
        return np.array(self._numbers, dtype=np.int64)

    @property
    def durations(self) -> Floats:
        """Return how long each iteration took: the median of its workers, in seconds."""
        return np.array(self._durations, dtype=np.float64)

    def last_time(self) -> float | None:
        """Return when the last iteration was complete."""
        return self._times[-1] if self._times else None

    def first_time(self) -> float | None:
        """Return when the first iteration was complete."""
        return self._times[0] if self._times else None

    def highest(self) -> int | None:
        """Return the highest iteration number seen."""
        return max(self._numbers) if self._numbers else None

    def recent(self, count: int) -> Floats:
        """Return the durations of the last `count` iterations."""
        return np.array(self._durations[-count:], dtype=np.float64)

    def means(self, last: int | None = None) -> list[WorkerMeans]:
        """Return the means of each worker, by rank; of the `last` iterations only where given."""
        start = 0 if last is None or len(self) <= last else self._ends[len(self) - last - 1]
        columns = np.array(self._columns[start:], dtype=np.int64)
        width = len(self._column_of)
        counts = np.bincount(columns, minlength=width)

        def mean(values: array[float]) -> Floats:
            sums = np.bincount(columns, weights=np.array(values[start:]), minlength=width)
            return np.asarray(sums / np.maximum(counts, 1))

        duration, busy, waiting = mean(self._flat_durations), mean(self._busy), mean(self._waiting)
        return [
            WorkerMeans(rank, int(counts[c]), float(duration[c]), float(busy[c]), float(waiting[c]))
            for rank, c in sorted(self._column_of.items())
            if counts[c]
        ]

    def busy_of(self, ranks: Iterable[int], since: int = 0) -> Floats:
        """Return the longest own time of some ranks in each iteration; NaN where none was measured.

        Iterations before the index `since` are not looked at.
        """
        found = np.full(len(self), -1.0)
        columns = [self._column_of[rank] for rank in ranks if rank in self._column_of]
        start = self._ends[since - 1] if since > 0 else 0
        theirs = start + np.flatnonzero(np.isin(np.array(self._columns[start:], dtype=np.int64), columns))
        of_iteration = np.searchsorted(np.array(self._ends, dtype=np.int64), theirs, side="right")
        np.maximum.at(found, of_iteration, np.array(self._busy[start:], dtype=np.float64)[theirs - start])
        return np.where(found < 0, np.nan, found)

    def waiting_grid(self, ranks: list[int], rows: int, columns: int) -> Grid:
        """Return mean waiting seconds on at most `rows` by `columns` cells.

        `ranks` are the ranks of the rows, ascending, all that were seen here among them.
        """
        row_edges = _edges(len(ranks), rows)
        column_edges = _edges(len(self), columns)
        place = np.searchsorted(np.array(ranks, dtype=object), np.array([*self._column_of], dtype=object))
        of_iteration = np.repeat(np.arange(len(self)), np.diff(np.array(self._ends), prepend=0))
        row = np.searchsorted(row_edges, place[np.array(self._columns, dtype=np.int64)], side="right") - 1
        column = np.searchsorted(column_edges, of_iteration, side="right") - 1
        shape = (len(row_edges) - 1, len(column_edges) - 1)
        cell = row * shape[1] + column
        counts = np.bincount(cell, minlength=shape[0] * shape[1])
        sums = np.bincount(cell, weights=np.array(self._waiting), minlength=shape[0] * shape[1])
        means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan).reshape(shape)
        return Grid(means, _spans(row_edges), _spans(column_edges))


def _edges(count: int, most: int) -> Ints:
    bins = min(count, most)
    return np.linspace(0, count, bins + 1).astype(np.int64) if bins else np.zeros(1, dtype=np.int64)


def _spans(edges: Ints) -> list[tuple[int, int]]:
    return [(int(a), int(b) - 1) for a, b in pairwise(edges)]


def ceiling(seconds: Floats) -> float:
    """Return the top of a scale: the longest, or less where a few outliers would flatten the rest."""
    longest, usual = float(seconds.max()), float(np.percentile(seconds, 95))
    return longest if longest <= 2 * usual else 1.5 * usual


def thin(x: Floats, y: Floats, most: int) -> tuple[Floats, Floats]:
    """Thin a series to about `most` points: the lowest and highest of each stretch, so that peaks survive."""
    if len(x) <= most:
        return x, y
    edges = np.linspace(0, len(x), most // 2 + 1).astype(np.int64)
    keep: list[int] = []
    for a, b in pairwise(edges):
        ends = {int(a + np.argmin(y[a:b])), int(a + np.argmax(y[a:b]))}
        keep.extend(sorted(ends))
    return x[keep], y[keep]
