"""Judge slowness: feed joined iterations to the detector, narrow the cause, say what was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from evenpace.detect.attribution import SlowKind, SlowVerdict
from evenpace.detect.sample import Sample
from evenpace.detect.slow import SlowDetector
from evenpace.detect.slow_events import Onset, Relief, SlowEvent, Update
from evenpace.findings import Finding
from evenpace.watch.groups import GroupBook
from evenpace.watch.joining import WorkerIteration
from evenpace.watch.measuring import Measured
from evenpace.watch.narrowing import Narrowing, TrafficBook, narrow
from evenpace.watch.slow_finding import Pace, slow_finding
from evenpace.watch.starvation import set_apart, single_out
from evenpace.watch.worker import Worker


@dataclass(frozen=True, slots=True)
class SlowSaying:
    """Something to tell: how the cause was narrowed, a finding raised (or replaced); or the relief.

    `link` is a finding of its own: a link that is slow beside slow workers. `ended`: what was told is about
    work that the job does no longer.
    """

    iteration: int
    since: float  # epoch seconds
    finding: Finding | None = None
    link: Finding | None = None
    narrowing: Narrowing | None = None
    relief: bool = False
    ended: bool = False


@dataclass(slots=True)
class SlowWatch:
    """Follow one incarnation's pace; the detector starts with the first iteration.

    Where the job comes back to work that it did before (a plan was taken back), what was learned of it holds.
    Where only its micro-batches are shared in another way, it is the same work, and goes on as it was.
    """

    _detector: SlowDetector | None = None
    _known: dict[tuple[str, ...], tuple[SlowDetector, TrafficBook]] = field(default_factory=dict)  # by roles
    _work: tuple[str, ...] = ()  # the roles now
    _next: tuple[str, ...] = ()  # those of the last iteration that was looked at,
    _alike: int = 0  # and in how many in a row
    _unlike: int = 0  # iterations since the job is looked at
    _ranks: list[int] = field(default_factory=list)
    _starts: dict[int, tuple[int, float]] = field(default_factory=dict)  # monotonic and epoch by iteration
    _ratio: float = 1.0
    _from_start: bool = False
    _raised: bool = False
    _unclear: Onset | None = None
    _unnamed: Onset | Update | None = None  # the last that named nobody, while the job is slow
    _traffic: TrafficBook = field(default_factory=TrafficBook)
    _narrowed: Narrowing | None = None  # the last one that was told

    def feed(
        self,
        measured: Measured,
        start: float,
        parts: Mapping[int, WorkerIteration],
        workers: list[Worker],
    ) -> list[SlowSaying]:
        """Take one iteration of the job; `start` is its beginning in epoch seconds."""
        sample, start_ns = measured.sample, measured.start_ns
        ended = list[SlowSaying]()
        if self._detector is None or sorted(parts) != self._ranks:
            roles = _roles(parts, workers, sample)
            if not self._stays(roles):
                return []
            ended = self._turn_to(roles, sample, start, workers)
        assert self._detector is not None  # noqa: S101  for the type checker
        self._starts[sample.iteration] = (start_ns, start)
        self._starts.pop(sample.iteration - 200, None)
        if not sample.irregular:
            self._traffic.add(sample.iteration, measured.traffic)
        events = [*self._detector.feed(sample), *self._overdue(sample.iteration)]
        events = events or self._singled_out(sample.iteration, workers)
        told = (self._say(event, workers, start_ns, start) for event in events)
        return [*ended, *(saying for saying in told if saying is not None)]

    def _stays(self, roles: Mapping[int, str]) -> bool:
        """Tell whether the job does this work, and not parts of two while it changes from one to the other.

        It does what it did before, or has done the same for a while.
        """
        work = _work(roles)
        self._alike = self._alike + 1 if work == self._next else 1
        self._next, self._unlike = work, self._unlike + 1
        settled = self._alike >= SETTLED or self._unlike >= NEVER_ALIKE
        return settled or not self._work or work == self._work

    def _turn_to(
        self, roles: Mapping[int, str], sample: Sample, start: float, workers: list[Worker]
    ) -> list[SlowSaying]:
        """Begin to judge the work that the job does now; tell where what was told is about other work."""
        self._unlike = 0
        self._ranks, work = list(roles), _work(roles)
        if work == self._work:
            self._detector, self._traffic = self._known[work]
            return []
        raised, self._raised, self._work = self._raised, False, work
        self._unclear = self._unnamed = self._narrowed = None
        nodes = {worker.id.rank: worker.id.node for worker in workers}
        self._detector, self._traffic = self._taken_up(list(roles.values()), nodes, sample.iteration)
        return [SlowSaying(sample.iteration, start, ended=True)] if raised else []

    def _singled_out(self, iteration: int, workers: list[Worker]) -> list[SlowEvent]:
        """Look for what the kernel says, while nobody is named."""
        event = self._unnamed
        named = self._by_kernel(event.verdict, event.iteration, workers) if event else None
        return [Update(event.iteration, iteration, named, event.ratio)] if event and named else []

    def _by_kernel(self, verdict: SlowVerdict, onset: int, workers: list[Worker]) -> SlowVerdict | None:
        since_ns, _ = self._starts.get(onset, (0, 0.0))
        return single_out(verdict, set_apart(workers, since_ns)) if since_ns else None

    def _overdue(self, iteration: int) -> list[Onset]:
        """Return the onset that has stayed unclear for so long that it must be told as it is."""
        unclear = self._unclear
        if unclear is None or iteration - unclear.iteration < UNCLEAR_AFTER:
            return []
        self._unclear = None
        if unclear.ratio < WORTH_TELLING:
            return []
        return [replace(unclear, decided=iteration)]

    def _taken_up(
        self, roles: list[str], nodes: dict[int, str], iteration: int
    ) -> tuple[SlowDetector, TrafficBook]:
        """Return the detector of this work: the one that knows it, or a new one."""
        known = self._known.get(self._work)
        if known is not None and known[0].ready:
            detector, traffic = known
            detector.take_up()
            traffic.ended(iteration)
            return known
        if len(self._known) >= MOST_KNOWN:
            del self._known[next(iter(self._known))]
        self._known[self._work] = SlowDetector(self._ranks, roles, nodes), TrafficBook()
        return self._known[self._work]

    def work_changed(self) -> None:
        """Lay the pace aside: the next iteration shows whether the job does other work now."""
        self._detector = None

    def _say(
        self, event: Onset | Update | Relief, workers: list[Worker], now_ns: int, now: float
    ) -> SlowSaying | None:
        since_ns, since = self._starts.get(event.iteration, (now_ns, now))
        if isinstance(event, Relief):
            return self._relieve(event, since)
        self._ratio = event.ratio
        if named := self._by_kernel(event.verdict, event.iteration, workers):
            event = replace(event, verdict=named)
        self._unnamed = None if event.verdict.culprits or event.verdict.link else event
        if isinstance(event, Onset):
            self._from_start = event.from_start
            self._traffic.began(event.iteration)
        narrowing = self._narrow(event, workers)
        if event.verdict.kind is SlowKind.UNCLEAR and narrowing is not None and narrowing.cause == "link":
            event = replace(event, verdict=_by_group(event.verdict))
        if not self._is_told(event):
            return SlowSaying(event.iteration, since, narrowing=narrowing) if narrowing else None
        self._unclear, self._raised = None, True
        verdict, link = event.verdict, None
        pace = Pace(event.iteration, since_ns, since, self._ratio, self._from_start)
        if verdict.culprits and verdict.link and verdict.kind is not SlowKind.COMMUNICATION:
            other = replace(verdict, kind=SlowKind.COMMUNICATION, culprits=())
            link = slow_finding(other, pace, workers)
            verdict = replace(verdict, link=None)
        return SlowSaying(event.iteration, since, slow_finding(verdict, pace, workers), link, narrowing)

    def _relieve(self, event: Relief, since: float) -> SlowSaying | None:
        self._traffic.ended(event.iteration)
        raised, self._raised = self._raised, False
        self._unclear = self._unnamed = self._narrowed = None
        return SlowSaying(event.iteration, since, relief=True) if raised else None

    def _narrow(self, event: Onset | Update, workers: list[Worker]) -> Narrowing | None:
        """Narrow the cause; None where that says nothing new."""
        book = workers[0].book
        narrowing = narrow(event.verdict, self._traffic.compare(_began(event)), book)
        if self._narrowed is not None and narrowing.answer == self._narrowed.answer:
            return None
        self._narrowed = narrowing
        return narrowing

    def _is_told(self, event: Onset | Update) -> bool:
        """Tell whether a finding is raised; an onset that is unclear is kept, to be told when it stays so."""
        if event.verdict.kind is SlowKind.THROUGHPUT and self._ratio < WORTH_TELLING:
            return False
        if event.verdict.kind is SlowKind.UNCLEAR and event.decided - _began(event) < UNCLEAR_AFTER:
            self._unclear = event if isinstance(event, Onset) else self._unclear
            return False
        return True


WORTH_TELLING = 1.3  # times slower, where nobody is to blame: less is the weather of a shared machine
SETTLED = 16  # iterations alike after which the job does other work,
NEVER_ALIKE = 40  # and how many are waited for them: those of some jobs always differ
MOST_KNOWN = 8  # kinds of work of one incarnation
UNCLEAR_AFTER = 20  # iterations before an unclear slowness is told at all


def _by_group(verdict: SlowVerdict) -> SlowVerdict:
    """Return the verdict on a network that is slow for one group, for whose ranks the others wait."""
    missing = ("a probe of the links: the recording does not show which is slow",)
    return replace(verdict, kind=SlowKind.COMMUNICATION, confidence=0.6, missing=missing)


def _began(event: Onset | Update) -> int:
    """Return the iteration from which on the job is as slow as it is now."""
    since = event.since if isinstance(event, Update) else None
    return event.iteration if since is None else since


def _roles(parts: Mapping[int, WorkerIteration], workers: list[Worker], sample: Sample) -> dict[int, str]:
    return {rank: _role(parts[rank], rank, workers[0].book, sample) for rank in sorted(parts)}


def _work(roles: Mapping[int, str]) -> tuple[str, ...]:
    return tuple(f"{rank} {role}" for rank, role in roles.items())


def _role(part: WorkerIteration, rank: int, book: GroupBook, sample: Sample) -> str:
    """Say what work a rank does, equal for comparable ranks: its operations by kind and size, and its stage.

    How many there are does not count where the loop says how it shares so many micro-batches: it may share
    them in another way later. Stages of a pipeline do unequal work even where their operations look alike; a
    stage is the rank's place in the group of its sends and receives.
    """
    operations = part.operations
    sizes = Counter(zip(operations["kind"].tolist(), operations["bytes"].tolist(), strict=True))
    groups = np.unique(operations["group"][operations["point_to_point"]]).tolist()
    stages = [book.groups[group].ranks.index(rank) for group in groups if rank in book.groups[group].ranks]
    if sample.counts is not None:
        return f"{sorted(sizes)} {stages} {sample.counts.sum():g}"
    return f"{sorted(sizes.items())} {stages}"
