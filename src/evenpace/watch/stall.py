"""Say what a stalled job waits for: the finding, with its evidence."""

from __future__ import annotations

from dataclasses import dataclass

from evenpace.detect.desync import FEWEST_RANKS
from evenpace.detect.waitfor import HangKind, HangVerdict
from evenpace.findings import Evidence, Finding, Severity, Terms
from evenpace.tap.inject.evenpace_tap.layout import KINDS
from evenpace.watch.events import stamp
from evenpace.watch.groups import GroupBook
from evenpace.watch.sayings import Details, make
from evenpace.watch.snapshot import heartbeat_age, is_stopped, last_activity_ns, unfinished
from evenpace.watch.worker import Worker, WorkerId

SHORTEST_S = 5.0  # no stall is called a hang before
SURE_FACTOR = (
    2.0  # a process that is not stopped may be in a long call: beyond doubt only after this much longer
)


@dataclass(frozen=True, slots=True)
class Stall:
    """A job that stands still: who waits for whom, for how long (seconds), at which time (epoch seconds)."""

    verdict: HangVerdict
    workers: list[Worker]
    waited: float
    limit: float  # how long a stall may last (seconds)
    now: float

    @property
    def culprits(self) -> list[Worker]:
        """Return the workers that the others wait for."""
        return [worker for worker in self.workers if worker.id.rank in self.verdict.culprits]

    @property
    def certain(self) -> bool:
        """Tell whether the culprits hang beyond doubt, so that something may be done about it."""
        if all(is_stopped(worker) for worker in self.culprits):
            return True
        return self.stuck and self.waited >= SURE_FACTOR * self.limit

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


def elsewhere(stall: Stall) -> Finding | None:
    """Name the one rank of a deadlock that is not in the collective which all others of the group entered."""
    odd = absentee(stall.verdict, stall.workers[0].book)
    worker = next((worker for worker in stall.workers if worker.id.rank == odd), None)
    if worker is None:
        return None
    wait = next(one for one in stall.verdict.waits if one.on == odd and one.kind not in PAIRWISE)
    return make(
        "collective-desync",
        "desync-elsewhere",
        {
            "rank": worker.id.rank,
            "node": worker.id.node,
            "operation": f"{wait.kind} {wait.sequence} ({worker.book.name(wait.group)})",
            "count": len(worker.book.groups[wait.group].ranks) - 1,
        },
        culprits=[worker.id],
        victims=[victim for victim in stall.victims if victim != worker.id],
        confidence=0.85,
        since=stamp(stall.now - stall.waited),
        evidence=_waits(stall.verdict) + state_evidence(worker),
        advice=["advice-same-path"],
        terms=HANGS,
    )


def absentee(verdict: HangVerdict, book: GroupBook) -> int | None:
    """Return the rank of a deadlock's circle that alone is missing from a collective, if there is one.

    The group must have three members or more: of two that wait for each other, either may be wrong.
    """
    missing: dict[tuple[int, int], set[int]] = {}
    entered: dict[tuple[int, int], set[int]] = {}
    for wait in verdict.waits:
        members = book.groups[wait.group].ranks
        if wait.kind not in PAIRWISE and len(members) >= FEWEST_RANKS:
            missing.setdefault((wait.group, wait.sequence), set()).add(wait.on)
            entered.setdefault((wait.group, wait.sequence), set()).add(wait.rank)
    alone = {
        next(iter(ranks))
        for (group, sequence), ranks in missing.items()
        if len(ranks) == 1 and len(entered[group, sequence]) == len(book.groups[group].ranks) - 1
    }
    return next(iter(alone)) if len(alone) == 1 and alone <= set(verdict.cycle) else None


def named(stall: Stall) -> Finding:
    """Name the workers that the others wait for."""
    culprits, stuck, sure = stall.culprits, stall.stuck, stall.certain
    fault, phrase, advice = _classify(culprits[0], stuck)
    return make(
        fault,
        phrase,
        _details(stall),
        culprits=[worker.id for worker in culprits],
        victims=stall.victims,
        confidence=0.95 if sure else 0.75 if stuck else 0.6,
        severity=Severity.CRITICAL if sure else Severity.WARNING,
        since=stamp(stall.now - stall.waited),
        evidence=[item for worker in culprits[:8] for item in state_evidence(worker)] + _waits(stall.verdict),
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


def state_evidence(worker: Worker) -> list[Evidence]:
    """Say where a worker stands: its last operation, its heartbeat, its process, its stack."""
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


def unnamed(stall: Stall) -> Finding:
    """Say that the job stands still and that nobody can be named."""
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
        + [item for worker in stall.workers[:8] for item in state_evidence(worker)[:1]],
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


PAIRWISE = ("send", "recv", "recv_any_source")
UNNAMED = {
    HangKind.DEADLOCK: ("deadlock", "hang-deadlock"),
    HangKind.COMMUNICATION: ("communication-hang", "hang-communication"),
}
HANGS = Terms(symptom=("hang",))
