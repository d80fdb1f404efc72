"""The watcher: one incarnation's rings, processes and logs in, events and findings out."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from evenpace.collect.job.rings import RingError
from evenpace.findings import Severity
from evenpace.tap.inject.evenpace_tap import layout
from evenpace.watch.book import FindingBook
from evenpace.watch.events import (
    Event,
    PeriodFound,
    WatchDegraded,
    WorkerJoined,
    stamp,
)
from evenpace.watch.exits import ExitWatch
from evenpace.watch.groups import GroupBook
from evenpace.watch.hang import HangWatch
from evenpace.watch.joining import IterationJoiner, WorkerIteration, lanes
from evenpace.watch.leaving import judge_leaving
from evenpace.watch.measuring import Measured, measure
from evenpace.watch.mismatch import judge_mismatch
from evenpace.watch.slow import SlowSaying, SlowWatch
from evenpace.watch.worker import Worker

HANG_EVERY_S = 0.5
LINK = "slow-link"  # the trouble of a link that is slow beside slow workers
STEPS_UNSEEN = 10  # optimizer steps without an operation: the tap is blind
BLIND_AFTER_S = 90.0  # from the start of an incarnation until the lack of any tap is said


class Watching(Protocol):
    """What the supervisor needs of a watcher; one per incarnation, so that none decides about the next."""

    def poll(self) -> list[Event]:
        """Look once at rings, processes and logs; return what is new. Call it about five times a second."""

    def agent_exited(self, node: str, exit_code: int | None) -> None:
        """Tell that a node's agent ended (the launcher knows first); None where the code cannot be known."""

    def settled(self) -> bool:
        """Tell whether every worker that joined has ended and been judged: nothing more will be said."""


WatcherFactory = Callable[[int, Path, dict[str, Path]], Watching]
"""(incarnation, folder of rings, log file by node) -> a watcher."""


@dataclass(slots=True)
class Watcher:
    """Watch one incarnation of a job. `clock` gives epoch seconds, `monotonic_ns` the clock of the rings."""

    incarnation: int
    rings: Path
    logs: dict[str, Path]
    clock: Callable[[], float] = time.time
    monotonic_ns: Callable[[], int] = time.monotonic_ns
    book: GroupBook = field(default_factory=GroupBook)
    workers: dict[int, Worker] = field(default_factory=dict)
    joiner: IterationJoiner = field(default_factory=IterationJoiner)
    slow: SlowWatch = field(default_factory=SlowWatch)
    hang: HangWatch = field(default_factory=HangWatch)
    exits: ExitWatch = field(init=False)
    findings: FindingBook = field(init=False)
    _iteration: int = 0
    _known: set[Path] = field(default_factory=set)
    _said: set[str] = field(default_factory=set)
    _periods: dict[int, int] = field(default_factory=dict)
    _started: float = 0.0
    _blind_told: bool = False
    _hang_looked: float = 0.0
    _hang: Severity | None = None  # of the hang that was told last and is not over

    def __post_init__(self) -> None:
        self._started = self.clock()
        self.exits = ExitWatch(self.incarnation, self.logs, judge_mismatch)
        self.findings = FindingBook(self.incarnation)

    def poll(self) -> list[Event]:
        """Look once; return what is new."""
        now_ns, now = self.monotonic_ns(), self.clock()
        events = self._discover(now)
        for worker in self._in_order():
            events += self._read(worker, now_ns, now)
        events += self._join(now_ns, now)
        events += self._exits(now)
        events += self._hangs(now_ns, now)
        return events + self._blind(now)

    def agent_exited(self, node: str, exit_code: int | None) -> None:
        """Take the launcher's word that an agent ended."""
        self.exits.agent_exited(node, exit_code, self.clock())

    def settled(self) -> bool:
        """Tell whether nothing more will be said."""
        return self.exits.settled(self._in_order())

    def _in_order(self) -> list[Worker]:
        return [self.workers[rank] for rank in sorted(self.workers)]

    def _discover(self, now: float) -> list[Event]:
        """Take in new rings, oldest first: a rank's newest is the one that lives."""
        found = []
        for path in self.rings.glob(f"*{layout.RING_SUFFIX}"):
            if path in self._known:
                continue
            try:
                worker = Worker.open(path, self.book)
            except (RingError, OSError):
                continue  # not written yet; the next look finds it
            if worker.header.rank >= 0:
                self._known.add(path)
                found.append(worker)
        found.sort(key=lambda worker: (worker.header.started_ns, worker.header.rank))
        return [self._welcome(worker, now) for worker in found]

    def _welcome(self, worker: Worker, now: float) -> WorkerJoined:
        if worker.id.rank in self.workers:
            self._start_over()
        self.workers[worker.id.rank] = worker
        worker.welcomed = worker.header.message
        native = worker.header.tap_kind == layout.TAP_NATIVE
        return WorkerJoined(
            time=stamp(now),
            incarnation=self.incarnation,
            rank=worker.id.rank,
            local_rank=worker.id.local_rank,
            world_size=worker.header.world_size,
            node=worker.id.node,
            pid=worker.id.pid,
            tap="native" if native else "python",
            note=worker.header.message,
        )

    def _start_over(self) -> None:
        """Forget all workers: the job's own launcher has started them again."""
        self.workers.clear()
        self._periods.clear()
        self.joiner, self.slow, self.hang = IterationJoiner(), SlowWatch(), HangWatch()
        self.exits = ExitWatch(self.incarnation, self.logs, judge_mismatch)

    def _read(self, worker: Worker, now_ns: int, now: float) -> list[Event]:
        for span in worker.poll(now_ns):
            operations = worker.window.slice(span.first, span.last)
            self.joiner.add(
                worker.id.rank, WorkerIteration(span, operations, lanes(operations, worker.id.rank))
            )
        return self._complaints(worker, now) + self._period(worker, now)

    def _complaints(self, worker: Worker, now: float) -> list[Event]:
        """Say once each what keeps a worker from being seen."""
        where, said = f"rank {worker.id.rank} on {worker.id.node}", []
        if worker.damage:
            said.append(f"the ring of {where} cannot be read: {worker.damage}")
        if not worker.window.next_index and worker.header.optimizer_steps >= STEPS_UNSEEN:
            said.append(f"{where} trains, but the tap sees none of its operations")
        if worker.header.message and worker.header.message != worker.welcomed:
            said.append(f"the tap of {where}: {worker.header.message}")
        fresh = [text for text in said if text not in self._said]
        self._said.update(fresh)
        return [WatchDegraded(time=stamp(now), incarnation=self.incarnation, text=text) for text in fresh]

    def _period(self, worker: Worker, now: float) -> list[Event]:
        period, rank = worker.tracker.period, worker.id.rank
        if period is None or self._periods.get(rank) == worker.tracker.period_changes:
            return []
        if rank in self._periods:
            self.slow.work_changed()
        self._periods[rank] = worker.tracker.period_changes
        kinds = Counter(layout.KINDS[int(kind)] for kind in worker.window.tail(period.length)["kind"])
        return [
            PeriodFound(
                time=stamp(now),
                incarnation=self.incarnation,
                rank=rank,
                operations=period.length,
                kinds=dict(kinds),
            ),
        ]

    def _join(self, now_ns: int, now: float) -> list[Event]:
        events: list[Event] = []
        for parts in self.joiner.ready(self._expected()):
            measured = self._measured(parts)
            self._iteration += 1
            start = now - (now_ns - measured.start_ns) / 1e9
            events.append(measured.event(self.incarnation, start, self.book))
            events += self._judge_pace(measured, start, parts, now)
        return events

    def _expected(self) -> list[int]:
        """Return the ranks whose iterations belong together; none while the world is incomplete."""
        if not self.workers:
            return []
        world = max(worker.header.world_size for worker in self.workers.values())
        return sorted(self.workers) if len(self.workers) >= world else []

    def _refreshed(self, parts: dict[int, WorkerIteration]) -> dict[int, WorkerIteration]:
        """Read the operations again, which may have completed since, and as many around them."""
        fresh = {}
        for rank, part in parts.items():
            first, last = part.span.first, part.span.last
            around = last - first + 1
            operations = self.workers[rank].window.slice(first - around, last + around)
            fresh[rank] = WorkerIteration(part.span, operations, lanes(operations, rank))
        return fresh

    def _measured(self, parts: dict[int, WorkerIteration]) -> Measured:
        """Measure an iteration, with what the workers' loops say of it."""
        spans = {rank: (part.span.start_ns, part.span.end_ns) for rank, part in parts.items()}
        tasks = {rank: self.workers[rank].tasks.work(*span) for rank, span in spans.items()}
        shares = {rank: self.workers[rank].tasks.share(*span) for rank, span in spans.items()}
        return measure(self._iteration, self._refreshed(parts), self.book, tasks, shares)

    def _judge_pace(
        self, measured: Measured, start: float, parts: dict[int, WorkerIteration], now: float
    ) -> list[Event]:
        duration = measured.sample.duration
        self.hang.intervals.append(duration)
        events: list[Event] = self.findings.close("hang", now, now, "relief")
        self._hang = None
        for saying in self.slow.feed(measured, start, parts, self._in_order()):
            events += self._told(saying, now)
        return events

    def _told(self, saying: SlowSaying, now: float) -> list[Event]:
        if saying.relief or saying.ended:
            return self._over(saying, now)
        narrowing, events = saying.narrowing, list[Event]()
        if narrowing:
            events.append(narrowing.event(self.incarnation, saying.iteration, now, self.book))
        for trouble, finding in (("slow", saying.finding), (LINK, saying.link)):
            if finding:
                events.append(self.findings.say(trouble, finding, now, saying.iteration))
        return events

    def _over(self, saying: SlowSaying, now: float) -> list[Event]:
        closed, reason = list[Event](), "ended" if saying.ended else "relief"
        for trouble in ("slow", LINK):
            closed += self.findings.close(trouble, now, saying.since, reason, saying.iteration)
        return closed

    def _exits(self, now: float) -> list[Event]:
        events, finding = self.exits.poll(self._in_order(), now)
        return [*events, self.findings.say("crash", finding, now)] if finding else events

    def _hangs(self, now_ns: int, now: float) -> list[Event]:
        if now - self._hang_looked < HANG_EVERY_S or self.exits.failing or self._hang is Severity.CRITICAL:
            return []
        self._hang_looked = now
        workers = self._in_order()
        finding = self.hang.look(workers, now_ns, now) if self._expected() else None
        finding = finding or judge_leaving(workers, self.exits.told, now)
        if finding is None or finding.severity is self._hang:
            return []
        self._hang = finding.severity
        return [self.findings.say("hang", finding, now)]

    def _blind(self, now: float) -> list[Event]:
        if self._blind_told or self.workers or now - self._started < BLIND_AFTER_S:
            return []
        self._blind_told = True
        text = "no worker has shown a tap yet: it starts with torch.distributed.init_process_group"
        return [WatchDegraded(time=stamp(now), incarnation=self.incarnation, text=text)]
