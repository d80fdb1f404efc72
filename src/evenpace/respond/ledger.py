"""What the events of a run add up to: nodes, budget, open findings. A log gives the same as living it."""

from __future__ import annotations

from dataclasses import dataclass, field

from evenpace.respond.policy import Failure, Limits, Position, Situation, failure_of
from evenpace.watch.events import (
    Decision,
    Event,
    FindingClosed,
    FindingRaised,
    IncarnationEnded,
    IncarnationStarted,
    Iteration,
    RunEnded,
    RunStarted,
    WorkerExited,
    WorkerJoined,
)


@dataclass(slots=True)
class Ledger:
    """The state of a run. `nodes` are those of the current or next incarnation, in order of rank."""

    run: RunStarted | None = None
    started: IncarnationStarted | None = None
    ended: IncarnationEnded | None = None
    pending: Decision | None = None  # a restart that was decided and has not begun
    over: bool = False
    nodes: tuple[str, ...] = ()
    spares: tuple[str, ...] = ()
    out: tuple[str, ...] = ()
    restarts: int = 0
    last_id: int = -1
    failures: list[Failure] = field(default_factory=list)
    iteration: int | None = None  # the last one of this incarnation
    open: dict[int, FindingRaised] = field(default_factory=dict)
    raised_at: dict[int, str] = field(default_factory=dict)  # when a finding was first raised
    decided: dict[int, Decision] = field(default_factory=dict)
    exits: list[WorkerExited] = field(default_factory=list)
    joined: int = 0  # workers seen in the current incarnation
    workers: dict[int, WorkerJoined] = field(default_factory=dict)  # of it, by rank; the last one of each

    def apply(self, event: Event) -> None:
        """Add one event."""
        match event:
            case RunStarted():
                self.run = event
                self.nodes, self.spares = tuple(event.nodes) or (event.host,), tuple(event.spares)
            case IncarnationStarted():
                self.started, self.ended, self.pending, self.iteration = event, None, None, None
                self.open, self.decided, self.exits, self.joined = {}, {}, [], 0
                self.workers = {}
            case WorkerJoined():
                self.joined += 1
                self.workers[event.rank] = event
            case Iteration():
                self.iteration = event.iteration
            case FindingRaised():
                self.open[event.id] = event
                self.raised_at.setdefault(event.id, event.time)
                self.last_id = max(self.last_id, event.id)
            case FindingClosed():
                self.open.pop(event.id, None)
            case WorkerExited():
                self.exits.append(event)
            case Decision():
                self._decided(event)
            case IncarnationEnded():
                self.ended = event
            case RunEnded():
                self.over = True

    def _decided(self, decision: Decision) -> None:
        if decision.finding is not None:
            self.decided[decision.finding] = decision
        if decision.action != "restart":
            return
        raised = self.open.get(decision.finding) if decision.finding is not None else None
        self.failures.append(failure_of(raised.finding if raised else None, self.position(raised)))
        self.pending = decision
        self.restarts += 1
        self.out += tuple(decision.nodes_out)
        self.nodes = tuple(node for node in self.nodes if node not in decision.nodes_out) + tuple(
            decision.nodes_in
        )
        self.spares = tuple(node for node in self.spares if node not in decision.nodes_in)

    def position(self, raised: FindingRaised | None) -> Position:
        """Return where the job was when a finding was raised (None: where it is now)."""
        step = self.started.step if self.started else None
        onset = raised.iteration if raised else None
        return Position(step, self.iteration if onset is None else onset)

    def situation(self) -> Situation:
        """Return what the policy decides by."""
        run = self.run
        limits = Limits(run.restarts, run.max_nodes_out, run.min_nodes) if run else Limits(0, 0, 1)
        return Situation(
            policy=run.policy if run else "observe",
            limits=limits,
            nodes=self.nodes,
            spares=self.spares,
            out=len(self.out),
            restarts=self.restarts,
            failures=tuple(self.failures),
        )
