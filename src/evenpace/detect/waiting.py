"""Split a worker's iteration into own time, waiting for others, and transfer.

In a synchronous job all workers show the same iteration time. Who is slow shows in the split: until the last
participant has entered an operation, the others wait for it; from then on the data is on its way; whatever
time a worker was not blocked is its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

_BURST_GAP = 0.5  # of the worker's longest gap between operations: what is shorter lies inside a burst


@dataclass(frozen=True, slots=True)
class OperationTimes:
    """Operations of several workers, one row each: columns of shape (operations,), times in nanoseconds.

    The rows of a worker stand together, in order of issue.
    `worker` is the column of the result, 0 to workers - 1. A time of 0 means "not yet" or "never":
    `complete_ns`, `wait_enter_ns` (the host never blocked in Work::wait), `next_enter_ns` (the enter of the
    worker's next operation; 0 where there is none yet), `last_enter_ns` (of `last_enters`).
    """

    worker: Integers
    group: Integers
    enter_ns: Integers
    complete_ns: Integers
    wait_enter_ns: Integers
    wait_ns: Integers
    next_enter_ns: Integers
    last_enter_ns: Integers


@dataclass(frozen=True, slots=True)
class Split:
    """Parts of each worker's iteration, shape (workers,), nanoseconds; they sum to its duration.

    `waiting_by_group` splits `waiting_ns` by the group of the operation waited in. `unmatched` is the
    number of operations whose last participant is not known (yet): their waiting and transfer is not counted,
    so the worker's own time may be too high.
    """

    busy_ns: Integers
    waiting_ns: Integers
    transfer_ns: Integers
    waiting_by_group: dict[int, Integers]
    unmatched: Integers


def last_enters(keys: NDArray[np.uint64], enter_ns: Integers, participants: Integers) -> Integers:
    """Return the latest enter among all participants of each operation; 0 where not all of them are there.

    One row an operation of a worker, in any order, shape (operations,) each. `keys` are equal for, and only
    for, the participants of one operation: `symbols.mix(group, source, target, sequence)`, source and target
    being the two ranks of a send and its receive, and -1 for collectives. `participants`: the group's size,
    or 2.
    """
    if not len(keys):
        return np.zeros(0, np.int64)
    order = np.argsort(keys)
    ordered = keys[order]
    begins = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    counts = np.diff(begins, append=len(keys))
    latest = np.maximum.reduceat(enter_ns[order], begins)
    result = np.zeros(len(keys), np.int64)
    result[order] = np.repeat(np.where(counts == participants[order][begins], latest, 0), counts)
    return result


def split(times: OperationTimes, start_ns: Integers, end_ns: Integers) -> Split:
    """Split the workers' iterations; `start_ns` and `end_ns` have shape (workers,).

    Rows whose blocking lies outside of their worker's iteration count as far as it lies inside.
    """
    known = times.last_enter_ns > 0
    line = _Line(times.worker, start_ns, end_ns)
    begin, end = _blocked(times)
    blocked = line.union(np.where(known, begin, 0), np.where(known, end, 0))
    waited = line.union(np.where(known, begin, 0), np.where(known, np.minimum(end, times.last_enter_ns), 0))
    by_group = {int(g): line.sum(np.where(times.group == g, waited, 0)) for g in np.unique(times.group)}
    waiting = line.sum(waited)
    transfer = line.sum(blocked) - waiting
    return Split(end_ns - start_ns - waiting - transfer, waiting, transfer, by_group, line.sum(~known))


def _blocked(times: OperationTimes) -> tuple[Integers, Integers]:
    """Return when the host was blocked on each operation.

    Where it did not block in Work::wait, it may have waited in a way that the tap does not see: from enter to
    completion, if its next operation came only then and not in quick succession, for DDP's reducer issues its
    buckets in a burst and waits on their futures after the last. Where completion is not known, the last
    enter is its lower bound.
    """
    waits = times.wait_enter_ns > 0
    complete = np.where(times.complete_ns > 0, times.complete_ns, times.last_enter_ns)
    overtaken = (times.next_enter_ns > 0) & (times.next_enter_ns < complete)
    end = np.where(overtaken | _in_burst(times, waits), times.enter_ns, complete)
    return (
        np.where(waits, times.wait_enter_ns, times.enter_ns),
        np.where(waits, times.wait_enter_ns + times.wait_ns, end),
    )


def _in_burst(times: OperationTimes, waits: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell which operations the worker soon followed up by another of that sort in the same iteration.

    Soon is by the measure of its longest gap after an operation without a seen wait.
    """
    gap = np.where(waits, 0, times.next_enter_ns - times.enter_ns)
    longest = np.zeros(times.worker.max(initial=-1) + 1, np.int64)
    np.maximum.at(longest, times.worker, gap)
    followed = (times.worker[1:] == times.worker[:-1]) & ~waits[1:]
    burst: NDArray[np.bool_] = np.append(followed, False)[: len(gap)] & (
        gap < longest[times.worker] * _BURST_GAP
    )
    return burst


class _Line:
    """All workers' iterations end to end on one line, so that one pass merges the intervals of all."""

    def __init__(self, worker: Integers, start_ns: Integers, end_ns: Integers) -> None:
        self._worker = worker
        self._workers = len(start_ns)
        self._start, self._length = start_ns[worker], (end_ns - start_ns)[worker]
        self._offset = np.concatenate(([0], np.cumsum(end_ns - start_ns)))[worker]

    def union(self, begin_ns: Integers, end_ns: Integers) -> Integers:
        """Return what each interval adds to the union of those that begin before it; inside its iteration."""
        begin, end = self._place(begin_ns), self._place(end_ns)
        order = np.lexsort((end, begin))
        reach = np.concatenate(([0], np.maximum.accumulate(end[order])[:-1])) if len(order) else begin
        added = np.zeros(len(begin), np.int64)
        added[order] = np.maximum(0, end[order] - np.maximum(begin[order], reach))
        return added

    def sum(self, values: NDArray[np.int64] | NDArray[np.bool_]) -> Integers:
        """Add up rows by worker, exactly."""
        total = np.zeros(self._workers, np.int64)
        np.add.at(total, self._worker, values)
        return total

    def _place(self, time_ns: Integers) -> Integers:
        placed: Integers = np.clip(time_ns - self._start, 0, self._length) + self._offset
        return placed
