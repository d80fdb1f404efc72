"""What a training loop says (ring records of kinds "work" and "share"), kept apart from its operations."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from evenpace.tap.inject.evenpace_tap import layout

WORK, SHARE = (layout.KINDS.index(kind) for kind in ("work", "share"))
KEPT = 16384  # records: more than any that a ring could still show again


@dataclass(frozen=True, slots=True)
class _Said:
    index: int
    ns: int
    kind: int
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Share:
    """The micro-batches that a worker had in an iteration, and its own seconds for one of them."""

    micro_batches: int
    each: float


@dataclass(slots=True)
class WorkBook:
    """Take what a loop says out of a worker's ring, and number the others as if it had never been there."""

    _said: deque[_Said] = field(default_factory=lambda: deque(maxlen=KEPT))
    _forgotten: int = 0  # records that are no longer kept

    def take(self, records: NDArray[np.void]) -> NDArray[np.void]:
        """Keep what is said in newly read records; return the operations."""
        said = np.isin(records["kind"], (WORK, SHARE))
        newest = self._said[-1].index if self._said else -1
        for record in records[said]:
            if record["index"] > newest:
                self._add(record)
        if not self._said:
            return records
        operations: NDArray[np.void] = records[~said].copy()
        indexes = operations["index"].astype(np.int64)
        oldest = indexes.min(initial=newest + 1)
        among = [one.index for one in takewhile(lambda one: one.index > oldest, reversed(self._said))][::-1]
        earlier = self._forgotten + len(self._said) - len(among)
        operations["index"] -= (earlier + np.searchsorted(among, indexes)).astype(np.uint64)
        return operations

    def _add(self, record: np.void) -> None:
        if len(self._said) == KEPT:
            self._forgotten += 1
        names = ("index", "enter_ns", "kind", "bytes", "wait_ns")
        self._said.append(_Said(*(int(record[name]) for name in names)))

    def work(self, start_ns: int, end_ns: int) -> tuple[int, int] | None:
        """Return tokens and squares of the steps that began in a span of time; None where none did."""
        found = self._between(WORK, start_ns, end_ns)
        return (sum(one.first for one in found), sum(one.second for one in found)) if found else None

    def share(self, start_ns: int, end_ns: int) -> Share | None:
        """Return the share of the steps that ended in a span of time; None where it is not known."""
        found = self._between(SHARE, start_ns, end_ns)
        count = sum(one.first for one in found)
        own = sum(one.first * one.second for one in found)
        return Share(count, own / count / 1e9) if count and own else None

    def _between(self, kind: int, start_ns: int, end_ns: int) -> list[_Said]:
        recent = takewhile(lambda one: one.ns >= start_ns, reversed(self._said))
        return [one for one in recent if one.kind == kind and one.ns < end_ns]
