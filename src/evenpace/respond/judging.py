"""Apply the policy to what is open in an incarnation."""

from __future__ import annotations

from dataclasses import dataclass

from evenpace.respond.incarnation import Incarnation
from evenpace.respond.parts import Parts
from evenpace.respond.policy import Verdict, decide
from evenpace.terms import say
from evenpace.watch.events import Decision, seconds

PATIENCE = 2.0  # seconds for a finding that takes no node out to become a better one
ACTS = ("restart", "give-up")


@dataclass(frozen=True, slots=True)
class Cause:
    """What must be done, and the number of the finding behind it (None: a failure without one)."""

    verdict: Verdict
    finding: int | None


def judge(incarnation: Incarnation, parts: Parts) -> Cause | None:
    """Decide about each open finding, record what is new, and return what must be done, if anything."""
    if incarnation.ended and not incarnation.exit_code:
        return None
    ledger = parts.recorder.ledger
    for number, raised in list(ledger.open.items()):
        verdict = decide(raised.finding, ledger.position(raised), ledger.situation())
        age = parts.clock.wall() - seconds(ledger.raised_at[number])
        if not (incarnation.ended or verdict.nodes_out or age >= PATIENCE):
            continue
        if verdict.action in ACTS:
            return Cause(verdict, number)
        _record_once(verdict, number, incarnation, parts)
    return _unexplained(incarnation, parts)


def _unexplained(incarnation: Incarnation, parts: Parts) -> Cause | None:
    """Decide about a job, or an agent, that failed and about which nothing was found."""
    ledger = parts.recorder.ledger
    if not (incarnation.ended or incarnation.overdue):
        return None
    verdict = decide(None, ledger.position(None), ledger.situation())
    return Cause(verdict, None) if verdict.action in ACTS else None


def decision(verdict: Verdict, finding: int | None, incarnation: Incarnation, parts: Parts) -> Decision:
    """Put a verdict into an event."""
    job = parts.recorder.ledger.run
    return Decision(
        time=parts.clock.stamp(),
        incarnation=incarnation.number,
        policy=job.policy if job else "observe",
        action=verdict.action,
        reason=say(verdict.phrase, parts.lang, **verdict.details),
        finding=finding,
        nodes_out=list(verdict.nodes_out),
        nodes_in=list(verdict.nodes_in),
    )


def _record_once(verdict: Verdict, number: int, incarnation: Incarnation, parts: Parts) -> None:
    event = decision(verdict, number, incarnation, parts)
    last = parts.recorder.ledger.decided.get(number)
    if last is None or (last.action, last.reason) != (event.action, event.reason):
        parts.recorder.write(event)
