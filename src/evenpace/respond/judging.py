"""Apply the policy to what is open in an incarnation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from evenpace.respond.incarnation import Incarnation
from evenpace.respond.parts import Parts
from evenpace.respond.policy import Verdict, decide, is_pace
from evenpace.terms import say
from evenpace.watch.events import Decision, seconds

PATIENCE = 2.0  # seconds for a finding that takes no node out to become a better one
ACTS = ("restart", "give-up")


@dataclass(frozen=True, slots=True)
class Weighed:
    """The numbers of a planner's decision, as in `events.Decision`."""

    lost: float = 0.0
    costs: Mapping[str, float] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Act:
    """What must be done, and the number of the finding behind it (None: a failure without one).

    `strategy` and the seconds of `weighed` (lost, costs and rates of `events.Decision`) are the planner's.
    """

    verdict: Verdict
    finding: int | None
    strategy: str = ""
    weighed: Weighed = Weighed()


def judge(incarnation: Incarnation, parts: Parts) -> Act | None:
    """Decide about each open finding, record what is new, and return what must be done, if anything."""
    if incarnation.ended and not incarnation.exit_code:
        return None
    ledger = parts.recorder.ledger
    for number, raised in list(ledger.open.items()):
        if is_pace(raised.finding):
            continue
        verdict = decide(raised.finding, ledger.position(raised), ledger.situation())
        age = parts.clock.wall() - seconds(ledger.raised_at[number])
        if not (incarnation.ended or verdict.nodes_out or age >= PATIENCE):
            continue
        if verdict.action in ACTS:
            return Act(verdict, number)
        _record_once(verdict, number, incarnation, parts)
    return _unexplained(incarnation, parts)


def _unexplained(incarnation: Incarnation, parts: Parts) -> Act | None:
    """Decide about a job, or an agent, that failed and about which nothing was found."""
    ledger = parts.recorder.ledger
    if not (incarnation.ended or incarnation.overdue):
        return None
    verdict = decide(None, ledger.position(None), ledger.situation())
    return Act(verdict, None) if verdict.action in ACTS else None


def decision(cause: Act, incarnation: int, parts: Parts) -> Decision:
    """Put a verdict, with its numbers, into an event."""
    job, verdict = parts.recorder.ledger.run, cause.verdict
    return Decision(
        time=parts.clock.stamp(),
        incarnation=incarnation,
        policy=job.policy if job else "observe",
        action=verdict.action,
        reason=say(verdict.phrase, parts.lang, **verdict.details),
        finding=cause.finding,
        nodes_out=list(verdict.nodes_out),
        nodes_in=list(verdict.nodes_in),
        strategy=cause.strategy,
        lost=round(cause.weighed.lost, 3),
        costs={name: round(cost, 3) for name, cost in cause.weighed.costs.items()},
        rates={name: round(rate, 4) for name, rate in cause.weighed.rates.items()},
    )


def _record_once(verdict: Verdict, number: int, incarnation: Incarnation, parts: Parts) -> None:
    event = decision(Act(verdict, number), incarnation.number, parts)
    last = parts.recorder.ledger.decided.get(number)
    if last is None or (last.action, last.reason) != (event.action, event.reason):
        parts.recorder.write(event)
