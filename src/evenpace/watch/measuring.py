"""Measure one joined iteration: each worker's own time, its waiting for others, its transfers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenpace.detect.attribution import Edge
from evenpace.detect.slow import Sample
from evenpace.detect.waiting import OperationTimes, last_enters, split
from evenpace.watch.events import Iteration, stamp
from evenpace.watch.groups import GroupBook
from evenpace.watch.joining import RECEIVES, WorkerIteration
from evenpace.watch.operations import Operations

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


def measure(iteration: int, parts: Mapping[int, WorkerIteration], book: GroupBook) -> Measured:
    """Split every worker's part of an iteration into own time, waiting for others, and transfer."""
    ranks = sorted(parts)
    rows = np.concatenate([parts[rank].operations for rank in ranks])
    counts = [len(parts[rank].operations) for rank in ranks]
    spans = [parts[rank].span for rank in ranks]
    start_ns = np.array([span.start_ns for span in spans])
    end_ns = np.array([span.end_ns for span in spans])
    sizes = np.array([len(group.ranks) for group in book.groups])
    last_enter = last_enters(
        np.concatenate([parts[rank].keys for rank in ranks]),
        rows["enter"],
        np.where(rows["point_to_point"], 2, sizes[rows["group"]]),
    )
    times = OperationTimes(
        worker=np.repeat(np.arange(len(ranks)), counts),
        group=rows["group"],
        enter_ns=rows["enter"],
        complete_ns=rows["complete"],
        wait_enter_ns=rows["wait_enter"],
        wait_ns=rows["wait_ns"],
        next_enter_ns=_next_enters([parts[rank].operations for rank in ranks], end_ns),
        last_enter_ns=last_enter,
    )
    parted = split(times, start_ns, end_ns)
    sample = Sample(
        iteration,
        (end_ns - start_ns) / 1e9,
        parted.busy_ns / 1e9,
        parted.waiting_ns / 1e9,
        parted.transfer_ns / 1e9,
        irregular=any(span.extra for span in spans),
        edges=_edges(rows, np.array(ranks)[times.worker], last_enter),
    )
    by_group = {group: waiting / 1e9 for group, waiting in parted.waiting_by_group.items()}
    return Measured(ranks, int(start_ns.min()), sample, by_group)


def _next_enters(operations: list[Operations], end_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return when each operation's successor was entered; the last one's is where the span ends."""
    following = [np.append(ops["enter"][1:], end) for ops, end in zip(operations, end_ns, strict=True)]
    return np.concatenate(following)


def _edges(rows: Operations, rank: NDArray[np.int64], last_enter: NDArray[np.int64]) -> dict[Edge, float]:
    """Return the transfer time (seconds) of each pair of ranks, source and destination, from its receives."""
    received = np.isin(rows["kind"], RECEIVES) & (rows["complete"] > 0) & (last_enter > 0)
    edges: dict[Edge, float] = {}
    for source, target, took in zip(
        rows["peer"][received].tolist(),
        rank[received].tolist(),
        np.maximum(0, rows["complete"] - last_enter)[received].tolist(),
        strict=True,
    ):
        edges[source, target] = edges.get((source, target), 0.0) + took / 1e9
    return edges
