"""The report as JSON: the envelope of findings (schema 1), and beside it the rest of the story."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from evenpace.diagnose.retelling import retold
from evenpace.findings import Finding, to_builtins
from evenpace.report import view
from evenpace.report.balance import Balance, balances
from evenpace.report.incidents import alike
from evenpace.report.loss import lost
from evenpace.report.story import Incarnation, Raised, Story
from evenpace.report.verdict import state, verdict
from evenpace.terms.spelling import line
from evenpace.watch.events import stamp


def to_json(story: Story, lang: str) -> bytes:
    """Encode the story. Times are RFC 3339, spans are seconds.

    `states` and `balances` run parallel to `findings`.
    """
    return msgspec.json.format(msgspec.json.encode(report(story, lang)), indent=2) + b"\n"


def report(story: Story, lang: str) -> dict[str, Any]:
    """Return the report as plain dictionaries and lists."""
    ranked, known = story.ranked(), balances(story)
    return to_builtins(_say(raised.finding, lang) for raised in ranked) | {
        "states": [_state(raised) for raised in ranked],
        "verdict": verdict(story, lang),
        "run": _run(story),
        "incarnations": [_incarnation(incarnation, lang) for incarnation in story.in_order()],
        "decisions": [msgspec.to_builtins(decision) for _, decision in story.decisions],
        "narrowed": [msgspec.to_builtins(event) for _, event in story.narrowed],
        "probed": [msgspec.to_builtins(event) for _, event in story.probed],
        "adapted": [msgspec.to_builtins(event) for _, event in story.adapted],
        "balances": [_balance(raised.id, known[raised.id]) for raised in ranked],
        "checkpoints_skipped": [msgspec.to_builtins(event) for _, event in story.skipped],
        "degraded": [msgspec.to_builtins(event) for _, event in story.degraded],
        "lost_seconds": _rounded(msgspec.to_builtins(lost(story))),
        "damaged_lines": story.damaged,
    }


def _say(finding: Finding, lang: str) -> Finding:
    told = retold(finding, lang)
    return replace(told, summary=line(told.summary), incidents=alike(finding, lang))


def _rounded(values: dict[str, Any]) -> dict[str, Any]:
    """Round to the microsecond: what lies below is noise of the sums."""
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in values.items()}


def _state(raised: Raised) -> dict[str, Any]:
    return {
        "id": raised.id,
        "incarnation": raised.incarnation,
        "iteration": raised.iteration,
        "raised": stamp(raised.raised),
        "onset": stamp(raised.onset),
        "closed": _time(raised.closed),
        "closed_iteration": raised.closed_iteration,
        "reason": raised.reason,
    }


def _balance(finding: int, known: Balance | None) -> dict[str, Any]:
    """Return what a finding cost in seconds, and `without` what it would have; None where not known."""
    values = msgspec.to_builtins(known) | {"recovered": known.recovered} if known else {}
    names = ("lost", "paused", "without", "recovered")
    return {"finding": finding} | _rounded({name: values.get(name) for name in names})


def _time(at: float | None) -> str | None:
    return None if at is None else stamp(at)


def _run(story: Story) -> dict[str, Any]:
    facts = msgspec.to_builtins(story.run) if story.run else {}
    return {name: value for name, value in facts.items() if name not in ("event", "time")} | {
        "state": state(story),
        "exit_code": story.end.exit_code if story.end else None,
        "started": _time(story.started),
        "latest": _time(story.latest),
        "restarts_used": story.restarts(),
        "nodes_out": story.nodes_out(),
    }


def _incarnation(incarnation: Incarnation, lang: str) -> dict[str, Any]:
    start = view.start_of(incarnation, lang)
    return {
        "incarnation": incarnation.number,
        "nodes": incarnation.nodes,
        "checkpoint": incarnation.checkpoint,
        "step": incarnation.step,
        "started": _time(incarnation.started),
        "ended": _time(incarnation.ended),
        "outcome": incarnation.outcome,
        "exit_code": incarnation.exit_code,
        "operations": incarnation.operations,
        "iterations": _rounded({"count": start.count, "median": start.median, "slowest": start.slowest}),
        "workers": [_rounded(msgspec.to_builtins(row)) for row in view.workers(incarnation, lang)],
    }
