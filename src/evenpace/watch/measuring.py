"""Measure one joined iteration: each worker's own time, its waiting for others, its transfers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenpace.detect.growth import Edge
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
    """Split every worker's part of an iteration into own time, waiting for others, and transfer.

    The parts' operations may reach beyond their spans, and should: the other side of an operation at the edge
    of one worker's span may lie outside of the other's.
    """
    ranks = sorted(parts)
    rows = np.concatenate([parts[rank].operations for rank in ranks])
    last_enter = _last_enters(rows, np.concatenate([parts[rank].keys for rank in ranks]), book)
    worker = np.repeat(np.arange(len(ranks)), [len(parts[rank].operations) for rank in ranks])
    next_enter = np.concatenate([np.append(parts[rank].operations["enter"][1:], 0) for rank in ranks])
    spans = [parts[rank].span for rank in ranks]
    first, last, start_ns, end_ns = (
        np.array([getattr(span, name) for span in spans]) for name in ("first", "last", "start_ns", "end_ns")
    )
    inside = (rows["index"] >= first[worker]) & (rows["index"] <= last[worker])
    rows, worker, last_enter = rows[inside], worker[inside], last_enter[inside]
    times = OperationTimes(
        worker=worker,
        group=rows["group"],
        enter_ns=rows["enter"],
        complete_ns=rows["complete"],
        wait_enter_ns=rows["wait_enter"],
        wait_ns=rows["wait_ns"],
        next_enter_ns=next_enter[inside],
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
        edges=_edges(rows, np.array(ranks)[worker], last_enter),
    )
    by_group = {group: waiting / 1e9 for group, waiting in parted.waiting_by_group.items()}
    return Measured(ranks, int(start_ns.min()), sample, by_group)


def _last_enters(rows: Operations, keys: NDArray[np.uint64], book: GroupBook) -> NDArray[np.int64]:
    sizes = np.array([len(group.ranks) for group in book.groups])
    return last_enters(keys, rows["enter"], np.where(rows["point_to_point"], 2, sizes[rows["group"]]))


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
