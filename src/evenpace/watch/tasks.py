"""What a training loop says of its work (ring records of kind "work"), kept apart from its operations."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from evenpace.tap.inject.evenpace_tap import layout

WORK = layout.KINDS.index("work")
KEPT = 16384  # records: more than any that a ring could still show again


@dataclass(slots=True)
class WorkBook:
    """Take the work records out of a worker's ring, and number the others as if they had never been there."""

    _tasks: deque[tuple[int, int, int, int]] = field(default_factory=lambda: deque(maxlen=KEPT))
    _forgotten: int = 0  # records that are no longer kept

    def take(self, records: NDArray[np.void]) -> NDArray[np.void]:
        """Keep what is said of work in newly read records; return the operations."""
        said = records["kind"] == WORK
        newest = self._tasks[-1][0] if self._tasks else -1
        for record in records[said]:
            if record["index"] > newest:
                self._add(record)
        if not self._tasks:
            return records
        operations: NDArray[np.void] = records[~said].copy()
        before = np.searchsorted([task[0] for task in self._tasks], operations["index"].astype(np.int64))
        operations["index"] -= (before + self._forgotten).astype(np.uint64)
        return operations

    def _add(self, record: np.void) -> None:
        if len(self._tasks) == KEPT:
            self._forgotten += 1
        numbers = (int(record[name]) for name in ("index", "enter_ns", "bytes", "wait_ns"))
        self._tasks.append(tuple(numbers))  # type: ignore[arg-type]

    def between(self, start_ns: int, end_ns: int) -> tuple[int, int] | None:
        """Return tokens and squares of the steps that began in a span of time; None where none did."""
        recent = takewhile(lambda task: task[1] >= start_ns, reversed(self._tasks))
        found = [task for task in recent if task[1] < end_ns]
        return (sum(task[2] for task in found), sum(task[3] for task in found)) if found else None
