"""Measure one joined iteration: each worker's own time, its waiting for others, its transfers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenpace.detect.comparable import Traffic, add_up
from evenpace.detect.growth import Edge
from evenpace.detect.sample import Sample
from evenpace.detect.waiting import OperationTimes, last_enters, split
from evenpace.tap.inject.evenpace_tap import layout
from evenpace.watch.events import Iteration, stamp
from evenpace.watch.groups import GroupBook
from evenpace.watch.instances import Rows, instances
from evenpace.watch.joining import WorkerIteration
from evenpace.watch.operations import Operations
from evenpace.watch.tasks import Share

Array = NDArray[np.float64]
ROUTED = [layout.KINDS.index(kind) for kind in ("all_to_all", "all_to_all_single")]


@dataclass(frozen=True, slots=True)
class Measured:
    """One iteration of the job, in seconds; columns follow `ranks`. `start_ns` is monotonic."""

    ranks: list[int]
    start_ns: int
    sample: Sample
    by_group: Mapping[int, Array]
    traffic: Traffic

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


def measure(
    iteration: int,
    parts: Mapping[int, WorkerIteration],
    book: GroupBook,
    tasks: Mapping[int, tuple[int, int] | None] | None = None,
    shares: Mapping[int, Share | None] | None = None,
) -> Measured:
    """Split every worker's part of an iteration into own time, waiting for others, and transfer.

    The parts' operations may reach beyond their spans, and should: the other side of an operation at the edge
    of one worker's span may lie outside of the other's. `tasks` says each rank's tokens and squares, `shares`
    its micro-batches, where its loop told them.
    """
    ranks = sorted(parts)
    rows = np.concatenate([parts[rank].operations for rank in ranks])
    keys = np.concatenate([parts[rank].keys for rank in ranks])
    last_enter = _last_enters(rows, keys, book)
    worker = np.repeat(np.arange(len(ranks)), [len(parts[rank].operations) for rank in ranks])
    next_enter = np.concatenate([np.append(parts[rank].operations["enter"][1:], 0) for rank in ranks])
    spans = [parts[rank].span for rank in ranks]
    first, last, start_ns, end_ns = (
        np.array([getattr(span, name) for span in spans]) for name in ("first", "last", "start_ns", "end_ns")
    )
    inside = (rows["index"] >= first[worker]) & (rows["index"] <= last[worker])
    traffic = add_up(instances(Rows(rows, keys, np.array(ranks)[worker], last_enter, inside)))
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
        edges=_edges(traffic),
        load=_load(rows, worker, len(ranks)),
        **_told(ranks, tasks or {}),
        **_shared(ranks, shares or {}),
    )
    by_group = {group: waiting / 1e9 for group, waiting in parted.waiting_by_group.items()}
    return Measured(ranks, int(start_ns.min()), sample, by_group, traffic)


def _last_enters(rows: Operations, keys: NDArray[np.uint64], book: GroupBook) -> NDArray[np.int64]:
    sizes = np.array([len(group.ranks) for group in book.groups])
    return last_enters(keys, rows["enter"], np.where(rows["point_to_point"], 2, sizes[rows["group"]]))


def _edges(traffic: Traffic) -> dict[Edge, float]:
    """Return the transfer time (seconds) of each pair of ranks, source and destination."""
    edges: dict[Edge, float] = {}
    pairs = traffic.source >= 0
    columns = (traffic.source[pairs], traffic.target[pairs], traffic.seconds[pairs])
    for source, target, seconds in zip(*(column.tolist() for column in columns), strict=True):
        edges[source, target] = edges.get((source, target), 0.0) + seconds
    return edges


def _load(rows: Operations, worker: NDArray[np.int64], workers: int) -> Array | None:
    """Return the bytes that each worker gave to all-to-all operations; None where there are none.

    Experts give back what was routed to them, so that the sum grows with their load.
    """
    routed = np.isin(rows["kind"], ROUTED)
    if not routed.any():
        return None
    return np.bincount(worker[routed], rows["bytes"][routed], workers).astype(np.float64)


def _told(ranks: list[int], tasks: Mapping[int, tuple[int, int] | None]) -> dict[str, Array]:
    """Return what the workers had to do, if all of them told it."""
    told = [task for rank in ranks if (task := tasks.get(rank)) is not None]
    if not ranks or len(told) < len(ranks):
        return {}
    numbers = np.array(told, np.float64)
    return {"tokens": numbers[:, 0], "squares": numbers[:, 1]}


def _shared(ranks: list[int], shares: Mapping[int, Share | None]) -> dict[str, Array]:
    """Return the workers' micro-batches and their seconds for one, if all of them told it."""
    told = [share for rank in ranks if (share := shares.get(rank)) is not None]
    if not ranks or len(told) < len(ranks):
        return {}
    counts, each = np.array([(share.micro_batches, share.each) for share in told]).T
    return {"counts": counts, "each": each}
