"""A synchronous job that exists only as ring files, in simulated time."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from evenpace.tap.inject.evenpace_tap import layout
from evenpace.tap.inject.evenpace_tap.ring import Ring
from evenpace.watch.events import Event
from evenpace.watch.watcher import Watcher

MS = 1_000_000
ALL_REDUCE = layout.KINDS.index("all_reduce")
GROUP = 7


class SimulatedJob:
    """Data-parallel ranks, one a node, each iteration `buckets` all-reduces at the end of its own work.

    `busy(rank, iteration)` gives a rank's own time in milliseconds. Every rank's operations complete when
    the last has entered, plus the transfer. A rank in `absent` enters nothing any more.
    """

    def __init__(self, folder: Path, world: int = 4, buckets: int = 3) -> None:
        self.now = 1_000_000 * MS
        self.world, self.sizes = world, [1000 + bucket for bucket in range(buckets)]  # bytes of operations
        self.absent: set[int] = set()
        self.sequence = [0] * world
        self.steps = 0
        self.rings = [self._ring(folder, rank) for rank in range(world)]
        self.watcher = Watcher(
            0, folder, {}, clock=lambda: 1.7e9 + self.now / 1e9, monotonic_ns=lambda: self.now
        )

    def _ring(self, folder: Path, rank: int) -> Ring:
        path = folder / f"node{rank}.{rank}{layout.RING_SUFFIX}"
        ring = Ring(str(path), f"node{rank}", layout.TAP_NATIVE)
        ring.set(
            rank=rank,
            local_rank=0,
            world_size=self.world,
            heartbeat_ns=self.now,
            started_ns=self.now,
            wall_offset_ns=0,
        )
        line = {"key": GROUP, "name": "0", "ranks": list(range(self.world)), "ns": self.now}
        path.with_suffix(layout.GROUPS_SUFFIX).write_text(json.dumps(line) + "\n")
        return ring

    def enter(self, rank: int, at: int, nbytes: int, complete: int = 0) -> None:
        """Record one all-reduce of a rank."""
        record = (at, at + 1000, complete, 0, 0, nbytes, GROUP, self.sequence[rank], -1, ALL_REDUCE, 0, 0, 1)
        self.rings[rank].append(record)
        self.sequence[rank] += 1

    def iterate(
        self, count: int, busy: Callable[[int, int], float] = lambda rank, i: 80.0, transfer: float = 5.0
    ) -> list[Event]:
        """Run iterations, polling the watcher after each; stops the clock where a rank is absent."""
        events: list[Event] = []
        for number in range(count):
            starts = [self.now + int(busy(rank, number) * MS) for rank in range(self.world)]
            for bucket, size in enumerate(self.sizes):
                entered = [start + bucket * MS for start in starts]
                last = max(entered)
                complete = 0 if self.absent else last + int(transfer * MS)
                for rank in set(range(self.world)) - self.absent:
                    self.enter(rank, entered[rank], size, complete)
            self.steps += 1
            self.now = max(starts) + int((len(self.sizes) + transfer) * MS)
            for ring in self.rings:
                ring.set(heartbeat_ns=self.now, optimizer_steps=self.steps)
            events += self.watcher.poll()
            if self.absent:
                break
        return events

    def wait(self, seconds: float, stacks: Sequence[tuple[int, Callable[[int], str]]] = ()) -> list[Event]:
        """Let time pass with heartbeats (and stacks, by rank) only, polling five times a second."""
        events: list[Event] = []
        for tick in range(int(seconds * 5)):
            self.now += 200 * MS
            for ring in self.rings:
                ring.set(heartbeat_ns=self.now)
            for rank, stack in stacks:
                self.rings[rank].write_text(layout.STACK_AREA, stack(tick))
                self.rings[rank].set(stack_ns=self.now)
            events += self.watcher.poll()
        return events
