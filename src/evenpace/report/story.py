"""The story of a run: its events folded into what happened, in any order and from any part of the log."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from evenpace.findings import Finding, Severity
from evenpace.report.iterations import IterationLog
from evenpace.watch import events as ev

_END_OF_TIME = 32_503_680_000.0  # the year 3000: no log is younger, and any date library can show it
_WEIGHT = {Severity.CRITICAL: 0, Severity.WARNING: 1, Severity.INFO: 2}


@dataclass(slots=True)
class Worker:
    """One worker process of one incarnation. Times are seconds since the epoch, None where not known."""

    incarnation: int
    rank: int
    node: str = ""
    local_rank: int | None = None
    pid: int | None = None
    tap: str = ""
    note: str = ""
    joined: float | None = None
    exited: float | None = None
    how: str = ""
    exception: str = ""
    signal: str = ""


@dataclass(slots=True)
class Incarnation:
    """One start of the job, from launch to end."""

    number: int
    started: float | None = None
    ended: float | None = None
    outcome: str | None = None
    exit_code: int | None = None
    nodes: list[str] = field(default_factory=list)
    checkpoint: str | None = None
    step: int | None = None
    operations: int | None = None
    workers: dict[int, Worker] = field(default_factory=dict)
    iterations: IterationLog = field(default_factory=IterationLog)

    def node_of(self, rank: int) -> str:
        """Return the node of a rank, or an empty string where it is not known."""
        worker = self.workers.get(rank)
        return worker.node if worker else ""


@dataclass(slots=True)
class Raised:
    """A finding with its life: `raised` when first said, `closed` when it was over (None while open)."""

    id: int
    incarnation: int
    finding: Finding
    raised: float
    onset: float
    iteration: int | None = None
    closed: float | None = None
    closed_iteration: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Closing:
    """A finding was closed, in whatever order the log says so."""

    at: float
    iteration: int | None
    reason: str


@dataclass(slots=True)
class Story:
    """All that the log of a run tells so far; `add` takes the next event."""

    damaged: int = 0
    events: int = 0
    run: ev.RunStarted | None = None
    started: float | None = None
    latest: float | None = None
    end: ev.RunEnded | None = None
    incarnations: dict[int, Incarnation] = field(default_factory=dict)
    findings: dict[int, Raised] = field(default_factory=dict)
    sayings: dict[int, list[tuple[float, Finding]]] = field(default_factory=dict)  # of each finding, as said
    decisions: list[tuple[float, ev.Decision]] = field(default_factory=list)
    skipped: list[tuple[float, ev.CheckpointSkipped]] = field(default_factory=list)
    degraded: list[tuple[float, ev.WatchDegraded]] = field(default_factory=list)
    attached: list[tuple[float, ev.WatchAttached]] = field(default_factory=list)
    narrowed: list[tuple[float, ev.Narrowed]] = field(default_factory=list)
    probed: list[tuple[float, ev.Probed]] = field(default_factory=list)
    adapted: list[tuple[float, ev.Adapted]] = field(default_factory=list)
    memo: dict[object, Any] = field(
        default_factory=dict, compare=False
    )  # sums that hold until the next event
    _closings: dict[int, Closing] = field(default_factory=dict)

    def add(self, event: ev.Event) -> None:
        """Fold one event in; one whose time cannot be read counts as damaged."""
        at = _seconds(event.time)
        if at is None:
            self.damaged += 1
            return
        self.events += 1
        self.memo.clear()
        self.latest = at if self.latest is None else max(self.latest, at)
        self.started = at if self.started is None else min(self.started, at)
        _fold(self, at, event)

    def incarnation(self, number: int) -> Incarnation:
        """Return the incarnation, made on first mention."""
        return self.incarnations.setdefault(number, Incarnation(number))

    def in_order(self) -> list[Incarnation]:
        """Return the incarnations, first to last."""
        return [self.incarnations[number] for number in sorted(self.incarnations)]

    def current(self) -> Incarnation | None:
        """Return the last incarnation."""
        return self.incarnations[max(self.incarnations)] if self.incarnations else None

    def ranked(self) -> list[Raised]:
        """Return the findings, the answer first: by severity, whether a culprit is named, and time."""
        return sorted(
            self.findings.values(),
            key=lambda f: (_WEIGHT[f.finding.severity], not f.finding.names_culprit, f.onset, f.id),
        )

    def decision_for(self, finding: int) -> ev.Decision | None:
        """Return the last decision taken about a finding."""
        found = [decision for _, decision in self.decisions if decision.finding == finding]
        return found[-1] if found else None

    def nodes_out(self) -> list[str]:
        """Return the nodes that restarts took out, in order."""
        out = (node for _, d in self.decisions if d.action == "restart" for node in d.nodes_out)
        return list(dict.fromkeys(out))

    def restarts(self) -> int:
        """Return how often the job was started again."""
        return max(len(self.incarnations) - 1, 0)


def tell(events: Iterable[ev.Event], damaged: int = 0) -> Story:
    """Fold events into a story."""
    story = Story(damaged=damaged)
    for event in events:
        story.add(event)
    return story


def _seconds(time: str) -> float | None:
    try:
        at = ev.seconds(time)
    except (ValueError, OverflowError, OSError):
        return None
    return at if 0 <= at < _END_OF_TIME else None


def _fold(story: Story, at: float, event: ev.Event) -> None:  # one branch a kind of event
    match event:
        case ev.Iteration():
            story.incarnation(event.incarnation).iterations.add(at, event)
        case ev.RunStarted():
            story.run = event
        case ev.RunEnded():
            story.end = event
        case ev.IncarnationStarted() | ev.IncarnationEnded() | ev.PeriodFound():
            _incarnation(story.incarnation(event.incarnation), at, event)
        case ev.WorkerJoined() | ev.WorkerExited():
            _worker(story.incarnation(event.incarnation), at, event)
        case ev.FindingRaised() | ev.FindingClosed():
            _finding(story, at, event)
        case ev.Decision():
            story.decisions.append((at, event))
        case ev.Narrowed() | ev.Probed() | ev.Adapted():
            _answer(story, at, event)
        case ev.CheckpointSkipped():
            story.skipped.append((at, event))
        case ev.WatchDegraded():
            story.degraded.append((at, event))
        case ev.WatchAttached():
            story.attached.append((at, event))


def _incarnation(
    incarnation: Incarnation, at: float, event: ev.IncarnationStarted | ev.IncarnationEnded | ev.PeriodFound
) -> None:
    match event:
        case ev.IncarnationStarted():
            incarnation.started, incarnation.nodes = at, list(event.agents)
            incarnation.checkpoint, incarnation.step = event.checkpoint, event.step
        case ev.IncarnationEnded():
            incarnation.ended, incarnation.outcome, incarnation.exit_code = at, event.outcome, event.exit_code
        case ev.PeriodFound():
            incarnation.operations = event.operations


def _answer(story: Story, at: float, event: ev.Narrowed | ev.Probed | ev.Adapted) -> None:
    match event:
        case ev.Narrowed():
            story.narrowed.append((at, event))
        case ev.Probed():
            story.probed.append((at, event))
        case ev.Adapted():
            story.adapted.append((at, event))


def _worker(incarnation: Incarnation, at: float, event: ev.WorkerJoined | ev.WorkerExited) -> None:
    worker = incarnation.workers.setdefault(event.rank, Worker(incarnation.number, event.rank))
    worker.node, worker.pid = event.node, event.pid
    if isinstance(event, ev.WorkerJoined):
        worker.joined, worker.local_rank = at, event.local_rank
        worker.tap, worker.note = event.tap, event.note
    else:
        worker.exited, worker.how = at, event.how
        worker.exception, worker.signal = event.exception, event.signal


def _finding(story: Story, at: float, event: ev.FindingRaised | ev.FindingClosed) -> None:
    if isinstance(event, ev.FindingRaised):
        before = story.findings.get(event.id)
        since = _seconds(event.finding.since) if event.finding.since else None
        raised = min(at, before.raised) if before else at
        onset = raised if since is None else since
        story.findings[event.id] = Raised(
            event.id, event.incarnation, event.finding, raised, onset, event.iteration
        )
        sayings = story.sayings.setdefault(event.id, [])
        if not sayings or _words(sayings[-1][1]) != _words(event.finding):
            sayings.append((at, event.finding))
    else:
        over = _seconds(event.since)
        story._closings[event.id] = Closing(at if over is None else over, event.iteration, event.reason)
    if (found := story.findings.get(event.id)) and (closing := story._closings.get(event.id)):
        found.closed, found.closed_iteration, found.reason = closing.at, closing.iteration, closing.reason


def _words(finding: Finding) -> tuple[object, ...]:
    """Return what a finding says, without its evidence."""
    return finding.fault, finding.subject, finding.summary
