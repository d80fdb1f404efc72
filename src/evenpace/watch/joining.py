"""Bring the same iteration of all workers together, by the operations that they share."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evenpace.detect.iterations import IterationSpan
from evenpace.detect.symbols import mix
from evenpace.tap.inject.evenpace_tap import layout
from evenpace.watch.operations import Operations

RECEIVES = (layout.KINDS.index("recv"), layout.KINDS.index("recv_any_source"))
KEPT = 512  # iterations of a worker that wait for the others
ENOUGH = 0.5  # of a span's operations shared with the iteration: it is this one


def lanes(operations: Operations, rank: int) -> NDArray[np.uint64]:
    """Return one number per operation, equal where the same ranks take part: there, sequences compare."""
    pair = operations["point_to_point"]
    receives = np.isin(operations["kind"], RECEIVES)
    source = np.where(pair, np.where(receives, operations["peer"], rank), -1)
    target = np.where(pair, np.where(receives, rank, operations["peer"]), -1)
    return mix(operations["group"], source, target)


@dataclass(frozen=True, slots=True)
class WorkerIteration:
    """One worker's part of an iteration: its span, its operations, and their lanes."""

    span: IterationSpan
    operations: Operations
    lanes: NDArray[np.uint64]

    @property
    def keys(self) -> NDArray[np.uint64]:
        """Return one number per operation, equal for its participants (send and receive share one)."""
        return mix(self.lanes.view(np.int64), self.operations["sequence"])


@dataclass(slots=True)
class IterationJoiner:
    """Collect the workers' iterations and give them out when all workers' parts are there."""

    _queues: dict[int, deque[WorkerIteration]] = field(default_factory=dict)

    def add(self, rank: int, part: WorkerIteration) -> None:
        """Take a worker's next iteration."""
        self._queues.setdefault(rank, deque(maxlen=KEPT)).append(part)

    def ready(self, ranks: list[int]) -> list[dict[int, WorkerIteration]]:
        """Return the iterations of which every one of `ranks` has its part, in order."""
        joined = []
        while ranks and all(self._queues.get(rank) for rank in ranks):
            parts = self._join(ranks)
            if parts is None:
                break
            if parts:
                joined.append(parts)
        return joined

    def _join(self, ranks: list[int]) -> dict[int, WorkerIteration] | None:
        """Return one iteration, {} where one had to be dropped, or None to wait for more."""
        first = self._queues[ranks[0]][0]
        parts = {ranks[0]: first}
        for rank in ranks[1:]:
            fate = _fate(self._queues[rank], list(parts.values()))
            if fate == "wait":
                return None
            if fate == "earlier":
                self._queues[rank].popleft()
                return {}
            if fate == "later":
                self._queues[ranks[0]].popleft()
                return {}
            parts[rank] = self._queues[rank][0]
        for rank in ranks:
            self._queues[rank].popleft()
        return parts


def _fate(queue: deque[WorkerIteration], parts: list[WorkerIteration]) -> str:
    """Tell whether a worker's next part is `this` iteration, an `earlier` or a `later` one, or `wait`."""
    pool = np.concatenate([part.keys for part in parts])
    head = queue[0]
    shared = _shared(head, pool)
    if shared >= ENOUGH:
        return "this"
    if not shared:
        return _by_sequence(head, parts) or _by_time(head.span, parts[0].span)
    if len(queue) == 1:
        return "wait"
    return "earlier" if _shared(queue[1], pool) > shared else "this"


def _shared(part: WorkerIteration, pool: NDArray[np.uint64]) -> float:
    """Return the share of a part's operations that the iteration has; 0 to 1."""
    return float(np.isin(part.keys, pool).mean()) if len(part.operations) else 0.0


def _by_sequence(head: WorkerIteration, parts: list[WorkerIteration]) -> str:
    """Place a part by the sequences of a lane that both have; empty where there is none."""
    for part in parts:
        common = np.intersect1d(head.lanes, part.lanes)
        if len(common):
            own = head.operations["sequence"][head.lanes == common[0]]
            other = part.operations["sequence"][part.lanes == common[0]]
            return "earlier" if own[0] < other[0] else "later"
    return ""


def _by_time(span: IterationSpan, reference: IterationSpan) -> str:
    """Place a part without shared operations by its middle (clocks of one machine, or in step)."""
    middle = (span.start_ns + span.end_ns) // 2
    if middle < reference.start_ns:
        return "earlier"
    return "later" if middle >= reference.end_ns else "this"
