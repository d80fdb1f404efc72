"""Each operation of the job once, out of the rows that its participants recorded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenpace.detect.comparable import Instances
from evenpace.detect.symbols import mix
from evenpace.watch.joining import RECEIVES
from evenpace.watch.operations import Operations
from evenpace.watch.worker import VARYING

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Rows:
    """Operations as the workers recorded them, one row a participant; `rank` is the recorder's.

    `keys` are equal for the participants of an operation, `last_enter` is 0 where not all are known, `inside`
    tells which rows lie in their worker's iteration.
    """

    operations: Operations
    keys: NDArray[np.uint64]
    rank: Integers
    last_enter: Integers
    inside: NDArray[np.bool_]


def instances(rows: Rows) -> Instances:
    """Return the operations of the iteration whose participants are all known, and which have completed.

    An operation belongs to the iteration in which its receiver, or its first participant, has it. It is
    complete when half of its participants (or the receiver) say so: one that is stopped says so late.
    """
    operations = rows.operations
    receives = np.isin(operations["kind"], RECEIVES)
    first = _first(rows.keys, ~receives & operations["point_to_point"])
    ends = _ends(rows, receives)
    kept = first[rows.inside[first] & (rows.last_enter[first] > 0)]
    end = ends.of(rows.keys[kept])
    kept, end = kept[end > 0], end[end > 0]
    chosen, pair = operations[kept], receives[kept]
    return Instances(
        group=chosen["group"],
        source=np.where(pair, chosen["peer"], -1),
        target=np.where(pair, rows.rank[kept], -1),
        begin_ns=rows.last_enter[kept],
        end_ns=end,
        last=_lasts(rows).of(rows.keys[kept]),
        bytes=chosen["bytes"],
        what=mix(chosen["kind"], np.where(np.isin(chosen["kind"], VARYING), 0, chosen["bytes"])),
    )


@dataclass(frozen=True, slots=True)
class _Table:
    """Values by key; both sorted by key."""

    keys: NDArray[np.uint64]
    values: Integers

    def of(self, keys: NDArray[np.uint64]) -> Integers:
        """Return the values of `keys`; 0 where there is none."""
        if not len(self.keys):
            return np.zeros(len(keys), np.int64)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[at] == keys, self.values[at], 0)


def _first(keys: NDArray[np.uint64], after: NDArray[np.bool_]) -> Integers:
    """Return a row for each key: the first one, of those that are not `after` the others if there are any."""
    order = np.lexsort((after, keys))
    ordered = keys[order]
    return np.asarray(order[np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))])


def _ends(rows: Rows, receives: NDArray[np.bool_]) -> _Table:
    """Return when each operation completed: the median over its participants, or the receiver's."""
    complete = rows.operations["complete"]
    known = np.flatnonzero((complete > 0) & (receives | ~rows.operations["point_to_point"]))
    order = known[np.lexsort((complete[known], rows.keys[known]))]
    unique, first, counts = np.unique(rows.keys[order], return_index=True, return_counts=True)
    return _Table(unique, complete[order][first + (counts - 1) // 2] if len(order) else complete[:0])


def _lasts(rows: Rows) -> _Table:
    """Return the rank that entered each operation last."""
    late = np.flatnonzero(rows.operations["enter"] == rows.last_enter)
    unique, first = np.unique(rows.keys[late], return_index=True)
    return _Table(unique, rows.rank[late][first])
