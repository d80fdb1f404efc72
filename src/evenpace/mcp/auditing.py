"""One audit at a time, and its answer in pages."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from evenpace.checks.catalogue import Check, chosen
from evenpace.checks.running import Result, run_all, unended
from evenpace.checks.telling import reason
from evenpace.collect.snapshot import Snapshot
from evenpace.errors import Problem
from evenpace.findings import Outcome, Severity
from evenpace.mcp.answers import AuditPage, CheckNote, Found, Source, Undecided
from evenpace.mcp.paging import Whole, size
from evenpace.mcp.quoting import SHORT, cut, found
from evenpace.mcp.reach import Reach
from evenpace.report.audit import Audit, audit_of

PATIENCE = 30.0  # seconds that a call waits for the one before it
MOST_GAPS = 100  # of a check that are told one by one
MOST_NOTED = 10  # checks that a call may name to be told of though they pass
MOST_UNENDED = 3  # checks that never answered, each with a thread that still runs
_RANK = {severity: rank for rank, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True)
class Turn:
    """Let one call read at a time: a cluster's objects take hundreds of MB."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    patience: float = PATIENCE

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Wait for the turn; raises Problem where it does not come."""
        if not self.lock.acquire(timeout=self.patience):
            raise Problem("another call is still reading; ask again when it has answered")
        try:
            yield
        finally:
            self.lock.release()


@dataclass(frozen=True, slots=True)
class Asked:
    """Hold what of which cluster was asked for."""

    path: str = ""
    context: str = ""
    checks: Sequence[str] = ()
    severity: Severity = Severity.INFO
    lang: str = "en"


def audited(reach: Reach, asked: Asked) -> Whole[AuditPage]:
    """Read, run the checks and return the answer; raises Problem."""
    wanted = [one for one in chosen(asked.checks) if _RANK[one.content.severity] <= _RANK[asked.severity]]
    snapshots = reach.snapshots(asked.path, asked.context, wanted)
    results = tuple(_run(snapshots, wanted))
    if not results:
        families = ", ".join(sorted({one.family for one in snapshots}))
        raise Problem(f"none of these checks is for what was read ({families}); list_checks names others")
    return _whole(audit_of(snapshots, results, asked.lang), all_noted=0 < len(asked.checks) <= MOST_NOTED)


def _run(snapshots: Sequence[Snapshot], checks: Sequence[Check]) -> Iterator[Result]:
    """Yield results; raises Problem once too many checks have not ended in their time."""
    for result in run_all(snapshots, checks):
        yield result
        if unended() >= MOST_UNENDED:
            raise Problem(f"{MOST_UNENDED} checks did not end in their time; start the server again")


def _whole(audit: Audit, *, all_noted: bool) -> Whole[AuditPage]:
    """Return the answer without the objects that were read; `all_noted`: passing checks are told as well."""
    ids = [result.check.id for result in audit.results]
    listed = _listed(audit.of)
    found_ = [found(audit.findings[place], ids[audit.of[place]], audit.lang) for place in listed]
    entries: list[Found | Undecided] = [*found_, *_undecided(audit)]
    first = dict[int, int]()  # result → the finding that names it first
    for entry, place in enumerate(listed):
        first.setdefault(audit.of[place], entry)
    told = range(len(ids)) if all_noted else first
    notes = {number: _note(audit.results[number], audit.lang) for number in told}
    begun = {place: notes[number] for number, place in first.items()}
    sizes = [size(one) + (size(begun[n]) if n in begun else 0) for n, one in enumerate(entries)]
    head = AuditPage(
        sources=[_source(one) for one in audit.snapshots],
        counts={outcome.value: count for outcome, count in audit.counts().items()},
        findings=len(found_),
        unlisted=sum(result.failing for result in audit.results) - len(found_),
        items=[],
        undecided=[],
        checks=[note for number, note in notes.items() if number not in first],
    )

    def page(start: int, end: int, cursor: str | None) -> AuditPage:
        shown = entries[start:end]
        return head.model_copy(
            update={
                "items": [one for one in shown if isinstance(one, Found)],
                "undecided": [one for one in shown if isinstance(one, Undecided)],
                "checks": [
                    *([] if start else head.checks),
                    *(begun[place] for place in range(start, end) if place in begun),
                ],
                "cursor": cursor,
            }
        )

    return Whole(sizes, page)


def _listed(of: Sequence[int]) -> list[int]:
    """Return the places of the findings that are told: of each result the first MOST_GAPS."""
    told = Counter[int]()
    kept = []
    for place, number in enumerate(of):
        told[number] += 1
        if told[number] <= MOST_GAPS:
            kept.append(place)
    return kept


_UNDECIDED = (Outcome.NO_DATA, Outcome.ERROR)


def _undecided(audit: Audit) -> Iterator[Undecided]:
    for result in audit.results:
        if result.outcome in _UNDECIDED:
            told = cut(reason(result, audit.lang))
            title = result.check.content.title.say(audit.lang, {})
            yield Undecided(check=result.check.id, title=title, outcome=result.outcome, quoted_reason=told)


def _note(result: Result, lang: str) -> CheckNote:
    content = result.check.content
    return CheckNote(
        check=result.check.id,
        title=content.title.say(lang, {}),
        why=content.why.say(lang, {}),
        outcome=result.outcome,
        looked_at=result.looked_at,
        failing=result.failing,
    )


def _source(snapshot: Snapshot) -> Source:
    return Source(
        family=snapshot.family,
        quoted_source=cut(snapshot.source, SHORT),
        quoted_version=snapshot.version and cut(snapshot.version, SHORT),
        taken=snapshot.taken.isoformat(timespec="seconds"),
        kinds_read=len(snapshot.kinds),
        kinds_unread=len(snapshot.unread),
    )
