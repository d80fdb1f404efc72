"""One worker as the watch sees it: its ring, its process, its iterations, where it stands."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenpace.collect.job.processes import ProcessFacts, read_process
from evenpace.collect.job.rings import RingError, RingHeader, RingReader, read_groups
from evenpace.detect.iterations import IterationSpan, IterationTracker
from evenpace.detect.symbols import encode
from evenpace.tap.inject.evenpace_tap import layout
from evenpace.tap.inject.evenpace_tap.layout import KINDS
from evenpace.watch.groups import GroupBook
from evenpace.watch.operations import OPERATION, Operations, OperationWindow, channels
from evenpace.watch.stacks import StackHistory
from evenpace.watch.tasks import WorkBook


@dataclass(frozen=True, slots=True)
class WorkerId:
    """Name a worker."""

    rank: int
    local_rank: int
    node: str
    pid: int


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a worker stands in a group: the last sequence it entered, the last that completed (-1: none)."""

    entered: int
    completed: int
    entered_ns: int
    completed_ns: int


@dataclass(slots=True)
class Worker:
    """Follow one worker. `poll` is the only method that looks; all others answer from what was seen."""

    path: Path
    book: GroupBook
    reader: RingReader
    header: RingHeader
    window: OperationWindow = field(default_factory=OperationWindow)
    tracker: IterationTracker = field(default_factory=IterationTracker)
    stacks: StackHistory = field(default_factory=StackHistory)
    process: ProcessFacts | None = None
    seen_ns: int = 0
    died_ns: int = 0
    welcomed: str = ""  # the tap's message when the worker joined
    damage: str = ""  # why the ring can no longer be read
    standings: dict[tuple[int, int], Standing] = field(default_factory=dict)
    samples: deque[tuple[int, ProcessFacts]] = field(default_factory=lambda: deque(maxlen=600))
    tasks: WorkBook = field(default_factory=WorkBook)
    _tracked: int = 0  # index of the operation that the tracker expects next
    _offset: int = 0  # index of the tracker's first operation
    _numbers: dict[int, int] = field(default_factory=dict)
    _groups_size: int = -1

    @classmethod
    def open(cls, path: Path, book: GroupBook) -> Worker:
        """Open a ring; raises RingError where it is not one (yet)."""
        reader = RingReader(path)
        return cls(path, book, reader, reader.header())

    @property
    def id(self) -> WorkerId:
        """Return the worker's name."""
        header = self.header
        return WorkerId(header.rank, header.local_rank, header.node, header.pid)

    @property
    def alive(self) -> bool:
        """Tell whether its process is still there."""
        return self.died_ns == 0

    def poll(self, now_ns: int) -> list[IterationSpan]:
        """Read what is new; return the iterations that have become complete."""
        self.seen_ns = now_ns
        self._look_at_process(now_ns)
        try:
            self.header = self.reader.header()
            fresh = self.reader.poll()
        except (RingError, OSError) as error:
            self.damage = str(error)
            return []
        self.stacks.add(self.header.stack_ns, self.header.stack)
        return self._take(fresh) if len(fresh) else []

    def _take(self, fresh: NDArray[np.void]) -> list[IterationSpan]:
        self._learn_groups()
        operations = self._translate(self.tasks.take(fresh))
        if not len(operations):
            return []
        new = operations[operations["index"] >= self.window.next_index]
        self.window.store(operations)
        self._take_standing(operations)
        return self._track(new)

    def _track(self, new: Operations) -> list[IterationSpan]:
        """Feed the tracker, which counts from 0; begin with a new one where operations are missing."""
        if not len(new):
            return []
        gaps = np.flatnonzero(np.diff(new["index"]) != 1)
        new = new[gaps[-1] + 1 :] if len(gaps) else new
        first = int(new["index"][0])
        if first != self._tracked:
            self.tracker, self._offset = IterationTracker(), first
        self._tracked = int(new["index"][-1]) + 1
        spans = self.tracker.feed(_symbols(new), new["enter"], self.header.optimizer_steps)
        return [
            replace(span, first=span.first + self._offset, last=span.last + self._offset) for span in spans
        ]

    @property
    def whole(self) -> bool:
        """Tell whether every operation of the worker was recorded and read."""
        return not self.header.lost and not self.reader.missed

    def completed(self, group: int, channel: int) -> int:
        """Return the last sequence that completed in a channel of a group, -1 where there is none."""
        standing = self.standings.get((group, channel))
        return standing.completed if standing else -1

    def _look_at_process(self, now_ns: int) -> None:
        if not self.alive:
            return
        self.process = read_process(self.header.pid, self.header.pid_start_ticks)
        if self.process is None or self.process.dead:
            self.died_ns = now_ns
        else:
            self.samples.append((now_ns, self.process))

    def _learn_groups(self) -> None:
        path = self.path.with_suffix(layout.GROUPS_SUFFIX)
        size = path.stat().st_size if path.exists() else 0
        if size != self._groups_size:
            self._groups_size = size
            self._numbers |= {key: self.book.number(group) for key, group in read_groups(path).items()}

    def _translate(self, records: NDArray[np.void]) -> Operations:
        operations = np.zeros(len(records), OPERATION)
        for name in ("index", "wait_ns", "bytes", "sequence", "kind"):
            operations[name] = records[name]
        for ours, theirs in (
            ("enter", "enter_ns"),
            ("complete", "complete_ns"),
            ("wait_enter", "wait_enter_ns"),
        ):
            operations[ours] = records[theirs]
        operations["waiting"] = records["waiting"] != 0
        operations["untold"] = (records["flags"] & layout.FLAG_COMPLETION_UNKNOWN) != 0
        operations["point_to_point"] = (records["flags"] & layout.FLAG_POINT_TO_POINT) != 0
        for pointer in np.unique(records["group"]):
            mine = records["group"] == pointer
            number = self._number(int(pointer))
            operations["group"][mine] = number
            operations["peer"][mine] = _global_peers(records["peer"][mine], self.book.groups[number].ranks)
        return operations

    def _number(self, pointer: int) -> int:
        if pointer not in self._numbers:
            self._groups_size = -1  # look again at the next poll: it may be announced a moment later
            return self.book.unknown(self.header.rank, pointer)
        return self._numbers[pointer]

    def _take_standing(self, operations: Operations) -> None:
        lanes = channels(operations)
        for group, channel in {*zip(operations["group"].tolist(), lanes.tolist(), strict=True)}:
            mine = operations[(operations["group"] == group) & (lanes == channel)]
            self.standings[group, channel] = _standing(mine, self.standings.get((group, channel)))


def _symbols(operations: Operations) -> NDArray[np.int64]:
    """Code operations for the tracker; sizes that vary by right (routing, uneven tensors) do not count."""
    sizes = np.where(np.isin(operations["kind"], VARYING), 0, operations["bytes"])
    columns = (operations[name] for name in ("group", "peer", "point_to_point"))
    return encode(operations["kind"], sizes, *columns)


def _standing(operations: Operations, before: Standing | None) -> Standing:
    last = operations[-1]
    done = operations[operations["complete"] > 0]
    completed, completed_ns = (before.completed, before.completed_ns) if before else (-1, 0)
    if len(done):
        completed = max(completed, int(done["sequence"].max()))
        completed_ns = max(completed_ns, int(done["complete"].max()))
    if before and before.entered > int(last["sequence"]):
        return Standing(before.entered, completed, before.entered_ns, completed_ns)
    return Standing(int(last["sequence"]), completed, int(last["enter"]), completed_ns)


def _global_peers(peers: NDArray[np.int32], ranks: tuple[int, ...]) -> NDArray[np.int64]:
    table = np.array([*ranks, -1], np.int64)
    inside = (peers >= 0) & (peers < len(ranks))
    return table[np.where(inside, peers, -1)]


VARYING = [
    KINDS.index(kind) for kind in ("all_to_all", "all_to_all_single", "all_gather", "gather", "scatter")
]
