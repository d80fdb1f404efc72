"""Judge a hang: who keeps the stalled job waiting, and is that anything but a long phase that is normal."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from evenpace.detect.waitfor import HangKind, HangVerdict, judge, patience, stalled
from evenpace.findings import Evidence, Finding, Severity, Terms
from evenpace.tap.inject.evenpace_tap.layout import KINDS
from evenpace.watch.events import stamp
from evenpace.watch.mismatch import judge_mismatch
from evenpace.watch.sayings import Details, make
from evenpace.watch.snapshot import heartbeat_age, is_stopped, last_activity_ns, take, unfinished
from evenpace.watch.stacks import MOVING_CEILING_S
from evenpace.watch.worker import Worker, WorkerId

SHORTEST_S = 5.0  # no stall is called a hang before
UNNAMED_FACTOR = 1.5  # a stall without a culprit waits this much longer: a culprit may still show
START_CEILING_S = 600.0  # before the first iteration was recognised, only a stopped process is beyond doubt


@dataclass(slots=True)
class HangWatch:
    """Look for stalls. Feed it the durations of iterations (seconds); ask `look` about twice a second."""

    intervals: deque[float] = field(default_factory=lambda: deque(maxlen=500))
    _suspects: tuple[int, ...] | None = None

    def look(self, workers: list[Worker], now_ns: int, now: float) -> Finding | None:
        """Return what holds the job up, once it has held it up for too long; None while all is well."""
        limit = patience(self.intervals, minimum=SHORTEST_S)
        since = stall_since(workers, now_ns, limit)
        if since is None:
            self._suspects = None
            return None
        snapshot = take(workers, now_ns, limit)
        verdict = judge(snapshot, (now_ns / 1e9) - limit, {w.id.rank: w.id.node for w in workers})
        steady = self._suspects == verdict.culprits
        self._suspects = verdict.culprits
        if verdict.kind is HangKind.NONE or not steady:
            return None
        return self._decide(Stall(verdict, workers, now_ns / 1e9 - since, now), limit)

    def _decide(self, stall: Stall, limit: float) -> Finding | None:
        if not stall.culprits:
            if stall.waited < self._unnamed_limit(limit):
                return None
            return judge_mismatch(stall.workers, stall.now) or _unnamed(stall)
        if stall.waited < self._ceiling(stall, limit):
            return None
        return judge_mismatch(stall.workers, stall.now) or _named(stall)

    def _unnamed_limit(self, limit: float) -> float:
        return UNNAMED_FACTOR * limit if self.intervals else START_CEILING_S

    def _ceiling(self, stall: Stall, limit: float) -> float:
        """Return how long the peers may wait for the culprits, given what these are doing (seconds)."""
        if all(is_stopped(worker) for worker in stall.culprits):
            return limit
        phases = [worker.stacks.phase for worker in stall.culprits]
        longest = max((phase.ceiling for phase in phases if phase), default=0.0)
        if not self.intervals:
            return max(limit, START_CEILING_S, longest)
        return max(limit, longest, 0.0 if stall.stuck else MOVING_CEILING_S)


@dataclass(frozen=True, slots=True)
class Stall:
    """A job that stands still: who waits for whom, for how long (seconds), at which time (epoch seconds)."""

    verdict: HangVerdict
    workers: list[Worker]
    waited: float
    now: float

    @property
    def culprits(self) -> list[Worker]:
        """Return the workers that the others wait for."""
        return [worker for worker in self.workers if worker.id.rank in self.verdict.culprits]

    @property
    def victims(self) -> list[WorkerId]:
        """Return the workers that wait."""
        return [worker.id for worker in self.workers if worker.id.rank in self.verdict.victims]

    @property
    def stuck(self) -> bool:
        """Tell whether the culprits go nowhere: stopped, or their stacks do not move."""
        recent = int(min(self.waited, SHORTEST_S) * 1e9)
        return all(
            is_stopped(worker) or worker.stacks.stuck_since(worker.seen_ns - recent)
            for worker in self.culprits
        )


def stall_since(workers: list[Worker], now_ns: int, limit: float) -> float | None:
    """Return since when (monotonic seconds) the oldest stalled group stands still; None where none does."""
    pending: dict[int, list[float]] = {}
    completed: dict[int, float] = {}
    for worker in workers:
        for one in unfinished(worker) if worker.alive else ():
            pending.setdefault(int(one["group"]), []).append(int(one["enter"]) / 1e9)
        for (group, _channel), standing in worker.standings.items():
            completed[group] = max(completed.get(group, 0.0), standing.completed_ns / 1e9)
    standing_still = [
        max(min(since), completed.get(group, 0.0))
        for group, since in pending.items()
        if stalled(since, completed.get(group, 0.0), now_ns / 1e9, limit)
    ]
    return min(standing_still, default=None)


def _named(stall: Stall) -> Finding:
    culprits, stuck = stall.culprits, stall.stuck
    fault, phrase, advice = _classify(culprits[0], stuck)
    return make(
        fault,
        phrase,
        _details(stall),
        culprits=[worker.id for worker in culprits],
        victims=stall.victims,
        confidence=0.95 if stuck else 0.6,
        severity=Severity.CRITICAL if stuck else Severity.WARNING,
        since=stamp(stall.now - stall.waited),
        evidence=[item for worker in culprits[:8] for item in _evidence(worker)] + _waits(stall.verdict),
        advice=advice,
        terms=HANGS,
    )


def _classify(worker: Worker, stuck: bool) -> tuple[str, str, list[str]]:
    if is_stopped(worker):
        return "non-communication-hang", "hang-stopped", ["advice-continue-process", "advice-exclude-node"]
    if not stuck:
        return "non-communication-slow", "hang-late", ["advice-stack"]
    if worker.stacks.in_loader:
        return "data-loader", "hang-loader", ["advice-loader"]
    return "non-communication-hang", "hang-outside", ["advice-stack", "advice-exclude-node"]


def _details(stall: Stall) -> Details:
    culprits, verdict = stall.culprits, stall.verdict
    wait = next((wait for wait in verdict.waits if wait.on in verdict.culprits), None)
    book = culprits[0].book
    return {
        "rank": ", ".join(str(worker.id.rank) for worker in culprits),
        "node": ", ".join(sorted({worker.id.node for worker in culprits})),
        "seconds": round(stall.waited, 1),
        "operation": f"{wait.kind} {wait.sequence} ({book.name(wait.group)})" if wait else "an operation",
        "state": culprits[0].process.state if culprits[0].process else "?",
    }


def _evidence(worker: Worker) -> list[Evidence]:
    source = f"rank {worker.id.rank}"
    last = (worker.seen_ns - last_activity_ns(worker)) / 1e9
    found = [
        Evidence(source=f"{source} ring", metric="seconds since its last operation", value=round(last, 1)),
        Evidence(
            source=f"{source} heartbeat",
            metric="seconds since its Python last ran",
            value=round(heartbeat_age(worker, worker.seen_ns), 1),
        ),
    ]
    if worker.process:
        found.append(
            Evidence(source=f"process {worker.id.pid}", metric="state in /proc", value=worker.process.state)
        )
    if worker.stacks.latest:
        found.append(Evidence(source=f"{source} stack", text=worker.stacks.latest[:2000]))
    return found


def _waits(verdict: HangVerdict) -> list[Evidence]:
    """Say each edge of the wait-for graph once, at the first operation of a rank that waits."""
    first: dict[tuple[int, int], str] = {}
    for wait in verdict.waits:
        edge = f"rank {wait.rank} waits for rank {wait.on} in {wait.kind} {wait.sequence}"
        first.setdefault((wait.rank, wait.on), edge)
    return [Evidence(source="wait-for graph", text=edge) for edge in list(first.values())[:16]]


def _unnamed(stall: Stall) -> Finding:
    kind = stall.verdict.kind
    fault, phrase = UNNAMED.get(kind, ("non-communication-hang", "hang-many"))
    return make(
        fault,
        phrase,
        {
            "ranks": ", ".join(map(str, stall.verdict.cycle)),
            "count": len(stall.workers),
            "seconds": round(stall.waited, 1),
            "operation": _pending(stall.workers),
        },
        victims=stall.victims,
        confidence=0.6,
        since=stamp(stall.now - stall.waited),
        evidence=_waits(stall.verdict)
        + [item for worker in stall.workers[:8] for item in _evidence(worker)[:1]],
        advice=["advice-fix-program" if kind is HangKind.DEADLOCK else "advice-probe-links"],
        missing=["missing-transport"],
        terms=HANGS,
    )


def _pending(workers: list[Worker]) -> str:
    """Name the oldest operation that has not completed."""
    waiting = [(one, worker.book) for worker in workers for one in unfinished(worker)]
    if not waiting:
        return "an operation"
    oldest, book = min(waiting, key=lambda pair: int(pair[0]["enter"]))
    return f"{KINDS[int(oldest['kind'])]} {int(oldest['sequence'])} ({book.name(int(oldest['group']))})"


UNNAMED = {
    HangKind.DEADLOCK: ("deadlock", "hang-deadlock"),
    HangKind.COMMUNICATION: ("communication-hang", "hang-communication"),
}
HANGS = Terms(symptom=("hang",))
