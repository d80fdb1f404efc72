"""Measure one joined iteration: each worker's own time, its waiting for others, its transfers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenpace.detect.slow import Sample
from evenpace.watch.events import Iteration, stamp
from evenpace.watch.groups import GroupBook
from evenpace.watch.joining import WorkerIteration

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Measured:
    """One iteration of the job, in seconds; columns follow `ranks`. `start_ns` is monotonic."""

    ranks: list[int]
    start_ns: int
    sample: Sample
    by_group: Mapping[int, Array]

    def event(self, incarnation: int, start: float, book: GroupBook) -> Iteration:
        """Return what goes into the event log; `start` in epoch seconds."""
        groups = self.by_group if len(self.by_group) > 1 else {}
        return Iteration(
            time=stamp(start),
            incarnation=incarnation,
            iteration=self.sample.iteration,
            ranks=self.ranks,
            durations=_rounded(self.sample.durations),
            busy=_rounded(self.sample.busy),
            waiting=_rounded(self.sample.waiting),
            waiting_by_group={book.name(group): _rounded(values) for group, values in groups.items()},
        )


def _rounded(values: Array) -> list[float]:
    return [round(float(value), 6) for value in values]
