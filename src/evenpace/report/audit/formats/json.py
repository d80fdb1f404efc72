"""The audit as JSON: the envelope of findings (schema 1), and beside it each check's outcome."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from evenpace.checks.running import Result
from evenpace.checks.telling import reason
from evenpace.collect.snapshot import Snapshot
from evenpace.findings import Finding, to_builtins
from evenpace.report.answer.json import written
from evenpace.report.audit import Audit
from evenpace.report.incidents import alike
from evenpace.terms.spelling import line
from evenpace.watch.events import stamp


def render(audit: Audit) -> str:
    """Return the audit as indented JSON; `checks[].findings` are places in `findings`."""
    page = to_builtins(_said(finding, audit.lang) for finding in audit.findings) | {
        "counts": {outcome.value: count for outcome, count in audit.counts().items()},
        "checks": [_check(number, result, audit) for number, result in enumerate(audit.results)],
        "sources": [_source(snapshot) for snapshot in audit.snapshots],
    }
    return written(page)


def _said(finding: Finding, lang: str) -> Finding:
    return replace(finding, summary=line(finding.summary), incidents=alike(finding, lang))


def _check(number: int, result: Result, audit: Audit) -> dict[str, Any]:
    content = result.check.content
    return {
        "id": result.check.id,
        "family": result.check.family,
        "source": audit.snapshots.index(result.snapshot),
        "title": content.title.say(audit.lang, {}),
        "severity": content.severity.value,
        "outcome": result.outcome.value,
        "reason": reason(result, audit.lang) or None,
        "unread": [msgspec.to_builtins(one) for one in result.unread],
        "looked_at": result.looked_at,
        "failing": result.failing,
        "findings": [place for place, of in enumerate(audit.of) if of == number],
    }


def _source(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "family": snapshot.family,
        "source": snapshot.source,
        "taken": stamp(snapshot.taken.timestamp()),
        "version": snapshot.version,
        "read": sorted(snapshot.kinds),
        "unread": {kind: msgspec.to_builtins(one) for kind, one in sorted(snapshot.unread.items())},
    }
