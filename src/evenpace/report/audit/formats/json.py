"""The audit as JSON: the envelope of findings (schema 1), and beside it each check's outcome."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec

from evenpace.checks.running import Result
from evenpace.checks.telling import reason
from evenpace.collect.snapshot import Snapshot
from evenpace.findings import to_builtins
from evenpace.report.answer.json import streamed
from evenpace.report.audit import Audit
from evenpace.report.audit.groups import absent
from evenpace.report.audit.suppressions import Suppression
from evenpace.terms.spelling import line
from evenpace.watch.events import stamp


def render(audit: Audit) -> Iterator[str]:
    """Yield the audit as indented JSON; `checks[].findings` are places in `findings`."""
    places: dict[int, list[int]] = {}
    for place, number in enumerate(audit.of):
        places.setdefault(number, []).append(place)
    page = to_builtins(()) | {
        "counts": {outcome.value: count for outcome, count in audit.counts().items()},
        "counting": len(audit.counting()) + sum(map(audit.unlisted, range(len(audit.results)))),
        "checks": [
            _check(result, places.get(number, []), audit) for number, result in enumerate(audit.results)
        ],
        "sources": [_source(snapshot) for snapshot in audit.snapshots],
        "gone": absent(audit),
        "suppressions": {
            "valid": [_decision(one) for one in audit.suppressions.valid],
            "expired": [_decision(one) for one in audit.suppressions.expired],
        },
    }
    return streamed(page, page["findings"], (_finding(audit, place) for place in range(len(audit.findings))))


def _finding(audit: Audit, place: int) -> dict[str, Any]:
    found = audit.findings[place]
    said: dict[str, Any] = msgspec.to_builtins(replace(found, summary=line(found.summary)))
    return said | _about(audit, place)


def _about(audit: Audit, place: int) -> dict[str, Any]:
    """Return what an audit knows of a finding beside the finding itself."""
    covered = audit.suppressed.get(place)
    return {
        "check": audit.results[audit.of[place]].check.id,
        "fingerprint": audit.prints[place],
        "suppressed": _decision(covered) if covered else None,
        "new": None if audit.baseline is None else audit.prints[place] not in audit.baseline.found,
    }


def _decision(one: Suppression) -> dict[str, Any]:
    return {
        "check": one.check,
        "subject": one.subject,
        "reason": one.reason,
        "expires": one.expires.isoformat(),
    }


def _check(result: Result, places: list[int], audit: Audit) -> dict[str, Any]:
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
        "findings": places,
        "documents": [{"title": one.title, "url": one.url} for one in content.document],
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
