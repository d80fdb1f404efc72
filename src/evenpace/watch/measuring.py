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


def measure(iteration: int, parts: Mapping[int, WorkerIteration]) -> Measured:
    """Split every worker's part of an iteration into own time, waiting for others, and transfer."""
    ranks = sorted(parts)
    keys = np.concatenate([parts[rank].keys for rank in ranks])
    operations = [parts[rank].operations for rank in ranks]
    enters = np.concatenate([ops["enter"] for ops in operations])
    unique, inverse = np.unique(keys, return_inverse=True)
    latest = np.zeros(len(unique), np.int64)
    np.maximum.at(latest, inverse, enters)
    offset = 0
    rows, by_group = [], {}
    for column, rank in enumerate(ranks):
        ops, span = operations[column], parts[rank].span
        last_enter = latest[inverse[offset : offset + len(ops)]]
        offset += len(ops)
        next_enter = np.append(ops["enter"][1:], span.end_ns)
        waited = ops["wait_enter"] > 0
        begin = np.where(waited, ops["wait_enter"], ops["enter"])
        complete = np.where(ops["complete"] > 0, ops["complete"], next_enter)
        end = np.where(waited, ops["wait_enter"] + ops["wait_ns"], np.minimum(complete, next_enter))
        end = np.clip(end, begin, span.end_ns)
        wait = np.clip(np.minimum(end, last_enter) - begin, 0, None)
        blocked = end - begin
        duration = span.end_ns - span.start_ns
        for group in np.unique(ops["group"]):
            values = by_group.setdefault(int(group), np.zeros(len(ranks)))
            values[column] = wait[ops["group"] == group].sum() / 1e9
        rows.append((duration, max(0, duration - blocked.sum()), wait.sum(), (blocked - wait).sum()))
    durations, busy, waiting, transfer = np.array(rows, float).T / 1e9
    sample = Sample(
        iteration, durations, busy, waiting, transfer, irregular=any(part.span.extra for part in parts.values())
    )
    return Measured(ranks, min(part.span.start_ns for part in parts.values()), sample, by_group)
