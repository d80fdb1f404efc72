"""Decide what a finding calls for. Pure: a finding and the situation in, a verdict out.

Only critical findings act. A node is taken out only for a confident finding that names it, and never for what
the program itself does wrong; whatever else failed is restarted in place. Slow findings are weighed by the
planner (`mitigation`), which asks here only whether their node may be taken out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from evenpace.findings import Finding, Severity

POLICIES = ("observe", "adapt", "restart")  # each may do what those before it may
SURE = 0.8  # the confidence that an eviction takes
SLOW = frozenset({"communication-slow", "non-communication-slow", "slow-throughput"})
# What an audit finds of a cluster: no fault of a run.
GAPS = frozenset(
    {
        "capacity-gap",
        "checkpoint-gap",
        "control-plane-gap",
        "eviction-gap",
        "health-check-gap",
        "lost-capacity",
        "monitoring-gap",
        "node-drift",
        "restart-gap",
        "scheduling-gap",
    }
)
# What the program or the whole job does: another node would do the same.
NEVER_EVICTS = GAPS | frozenset(
    {
        "checkpoint-hang",
        "collective-desync",
        "config",
        "data-loader",
        "deadlock",
        "launch-rendezvous",
        "network-config",
        "network-fabric",
        "not-a-failure",
        "numerics",
        "oom-gpu",
        "preempted-or-timelimit",
        "shm",
        "slow-preprocessing-timeout",
        "storage",
        "unexplained-failure",
    }
)
# Most likely the program, or the same on all nodes; but a node that does it again is suspect.
EVICTS_AT_SECOND = frozenset(
    {"user-code-exception", "cuda-kernel-error", "container-runtime", "gpu-driver", "oom-host"}
)
# A worker ended by one of these did it to itself: an illegal access, a failed assertion, a library's abort.
OWN_SIGNALS = frozenset({"SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE"})
SOFTWARE = frozenset(
    {
        "user-code-exception",
        "cuda-kernel-error",
        "collective-desync",
        "data-loader",
        "deadlock",
        "launch-rendezvous",
        "network-config",
        "numerics",
        "oom-gpu",
        "shm",
        "slow-preprocessing-timeout",
        "storage",
        "config",
    }
)


@dataclass(frozen=True, slots=True)
class Limits:
    """Bound what the policy may do to one job: restarts, nodes taken out, and the nodes that must remain."""

    restarts: int
    nodes_out: int
    min_nodes: int


@dataclass(frozen=True, slots=True)
class Position:
    """Where the job was: the step that it started from and the iteration since; None if unknown."""

    step: int | None
    iteration: int | None

    def same(self, other: Position) -> bool:
        """Tell whether no progress lies between: the same step, give or take the iteration it broke in."""
        if self.iteration is None or other.iteration is None:
            return self.step == other.step and self.iteration == other.iteration
        return abs((self.step or 0) + self.iteration - (other.step or 0) - other.iteration) <= 1


@dataclass(frozen=True, slots=True)
class Failure:
    """An earlier restart's cause."""

    fault: str
    nodes: tuple[str, ...]
    position: Position


@dataclass(frozen=True, slots=True)
class Situation:
    """The job as it stands: its nodes by rank, spares, nodes out so far, restarts so far and their causes."""

    policy: str
    limits: Limits
    nodes: tuple[str, ...]
    spares: tuple[str, ...] = ()
    out: int = 0
    restarts: int = 0
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to do: an action of `events.Decision`, and why, as a phrase with its details."""

    action: str
    phrase: str
    details: dict[str, str | int] = field(default_factory=dict)
    nodes_out: tuple[str, ...] = ()
    nodes_in: tuple[str, ...] = ()


def decide(finding: Finding | None, position: Position, situation: Situation) -> Verdict:
    """Decide about an open finding, or (None) about a job that failed without one."""
    if finding is not None and (finding.severity is not Severity.CRITICAL or finding.fault in SLOW):
        return Verdict("none", "decision-not-critical")
    restart = "restart" if situation.policy == "restart" else "would-restart"
    give_up = "give-up" if situation.policy == "restart" else "none"
    if finding is not None and _repeated(finding, position, situation):
        return Verdict(give_up, "decision-same-fault")
    if situation.restarts >= situation.limits.restarts:
        return Verdict(give_up, "decision-budget", {"restarts": situation.limits.restarts})
    if finding is None:
        return Verdict(restart, "decision-unexplained")
    return _with_nodes(restart, finding, situation)


def is_pace(finding: Finding) -> bool:
    """Tell whether a finding is about the pace of a job that goes on: the planner's business."""
    return (finding.phrase or "").startswith("slow-")


def decide_slow(finding: Finding, situation: Situation) -> Verdict:
    """Decide what a restart for a slow finding would do; it takes no node out where the rules keep it."""
    if situation.restarts >= situation.limits.restarts:
        return Verdict("none", "decision-budget", {"restarts": situation.limits.restarts})
    return _with_nodes("restart", finding, situation)


def evicts_at_once(fault: str) -> bool:
    """Tell whether a fault is that of a machine: its node may be taken out the first time."""
    return fault not in NEVER_EVICTS | EVICTS_AT_SECOND | SLOW


def failure_of(finding: Finding | None, position: Position) -> Failure:
    """Return what to remember of a restart's cause."""
    if finding is None:
        return Failure("unexplained-failure", (), position)
    return Failure(finding.fault, culprits(finding), position)


def culprits(finding: Finding) -> tuple[str, ...]:
    """Return the nodes that a finding accuses."""
    node = finding.subject.node
    return () if node is None else (node,) if isinstance(node, str) else tuple(node)


def _repeated(finding: Finding, position: Position, situation: Situation) -> bool:
    """Tell whether the same fault of the program came back at the same step: it will come again."""
    return finding.fault in SOFTWARE and any(
        earlier.fault == finding.fault and earlier.position.same(position) for earlier in situation.failures
    )


def _with_nodes(action: str, finding: Finding, situation: Situation) -> Verdict:
    """Restart without the culprits where the rules allow it, else in place."""
    accused = tuple(node for node in culprits(finding) if node in situation.nodes)
    details: dict[str, str | int] = {"nodes": ", ".join(accused)}
    spares = situation.spares[: len(accused)]
    if reason := _keeps(finding, accused, len(spares), situation):
        return Verdict(action, reason, details)
    if spares:
        return Verdict(action, "decision-replace", {**details, "spares": ", ".join(spares)}, accused, spares)
    return Verdict(action, "decision-shrink", details, accused)


def _keeps(finding: Finding, accused: tuple[str, ...], spares: int, situation: Situation) -> str:
    """Return the phrase that says why no node is taken out; empty where the accused go."""
    first = _likely_program(finding) and not _accused_before(accused, situation)
    reasons = {
        "decision-software": finding.fault in NEVER_EVICTS,
        "decision-no-culprit": not accused,
        "decision-unsure": finding.confidence < SURE,
        "decision-first-time": first,
        "decision-cap": situation.out + len(accused) > situation.limits.nodes_out,
        "decision-too-few": len(situation.nodes) - len(accused) + spares < situation.limits.min_nodes,
    }
    return next((phrase for phrase, applies in reasons.items() if applies), "")


def _likely_program(finding: Finding) -> bool:
    own = finding.fault == "worker-killed" and finding.details.get("signal") in OWN_SIGNALS
    return own or finding.fault in EVICTS_AT_SECOND


def _accused_before(accused: tuple[str, ...], situation: Situation) -> bool:
    named = {node for failure in situation.failures for node in failure.nodes}
    return named.issuperset(accused)
