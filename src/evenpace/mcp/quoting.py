"""Findings as the tools answer them: short, with foreign text in its own fields, made harmless and cut."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from evenpace.findings import Evidence, Finding, Subject
from evenpace.mcp.answers import Case, Found, Quote, Quoted, Step
from evenpace.report.words import fault
from evenpace.terms.spelling import line

LONG, SHORT = 600, 200  # bytes of UTF-8
PIECES = 5  # of evidence and of advice
_TIME = re.compile(r"[0-9T:.+Z-]{10,40}", re.ASCII)
NAMES = 12  # of a list of nodes, ranks or GPUs


def cut(text: str, most: int = LONG) -> str:
    """Return text on one line without control characters, in at most `most` bytes and a mark."""
    raw = line(text).encode("utf-8", "replace")
    return raw.decode() if len(raw) <= most else f"{raw[:most].decode('utf-8', 'ignore')}…"


def found(finding: Finding, check: str | None, lang: str) -> Found:
    """Return a finding for an agent."""
    return Found(
        check=check,
        fault=finding.fault,
        fault_name=fault(finding.fault, lang),
        severity=finding.severity,
        confidence=finding.confidence,
        since=finding.since if finding.since and _TIME.fullmatch(finding.since) else None,
        incidents=[Case(id=one.id, why=cut(one.why)) for one in finding.incidents[:PIECES]],
        quoted=Quoted(
            summary=cut(finding.summary),
            subject=_subject(finding.subject),
            evidence=[quote(one) for one in finding.evidence[:PIECES]],
            advice=[_step(one.text, one.command) for one in finding.advice[:PIECES]],
            missing=[cut(one) for one in finding.missing[:PIECES]],
            more=sum(max(len(some) - PIECES, 0) for some in (finding.evidence, finding.advice)),
        ),
    )


def quote(one: Evidence) -> Quote:
    """Return a piece of evidence: its line or value, beside what was expected."""
    where = one.source if one.line is None else f"{one.source}:{one.line}"
    if one.text is not None:
        return Quote(source=cut(where, SHORT), text=cut(one.text))
    expected = "" if one.expected is None else f" (expected {one.expected})"
    return Quote(source=cut(where, SHORT), text=cut(f"{one.metric} = {one.value}{expected}"))


def _step(text: str, command: str | None) -> Step:
    """Return advice; a command that is too long is left out, as a part of it could do something else."""
    fits = command is not None and cut(command) == command
    return Step(text=cut(text), command=command if fits else None)


def _subject(subject: Subject) -> dict[str, Any]:
    known = msgspec.to_builtins(subject)
    return {name: _value(value) for name, value in known.items() if value is not None}


def _value(value: object) -> object:
    if isinstance(value, list):
        return [*_values(value[:NAMES]), *([f"and {len(value) - NAMES} more"] if value[NAMES:] else [])]
    return value if isinstance(value, int) else cut(str(value), SHORT)


def _values(values: Iterable[object]) -> list[object]:
    return [value if isinstance(value, int) else cut(str(value), SHORT // 2) for value in values]
