"""The audit on a terminal: what was read, the gaps, then what could not be decided and the counts."""

from __future__ import annotations

import io
from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from evenpace.checks.telling import reason
from evenpace.findings import Outcome
from evenpace.report.audit import Audit
from evenpace.report.output import FILE_WIDTH
from evenpace.report.text import card_text, pairs
from evenpace.report.view import card_of
from evenpace.report.words import date
from evenpace.terms import say
from evenpace.terms.spelling import line
from evenpace.watch.events import seconds

_UNDECIDED = (Outcome.NO_DATA, Outcome.ERROR)


def render(audit: Audit) -> str:
    """Return the audit as text for a file."""
    page = io.StringIO()
    Console(file=page, width=FILE_WIDTH, highlight=False, color_system=None).print(laid_out(audit))
    return page.getvalue()


def laid_out(audit: Audit) -> RenderableType:
    """Return the audit as one renderable."""
    return Group(*_sources(audit), Text(verdict(audit), style="bold"), Text(), *_cards(audit), *_rest(audit))


def verdict(audit: Audit) -> str:
    """Say in one sentence how many checks found a gap."""
    failed = audit.counts()[Outcome.FAIL]
    if not failed:
        return say("audit-clean", audit.lang)
    return say("audit-gaps", audit.lang, count=failed, checks=len(audit.results))


def _sources(audit: Audit) -> Iterator[RenderableType]:
    for snapshot in audit.snapshots:
        told = say(
            "audit-source",
            audit.lang,
            family=snapshot.family.capitalize(),
            version=line(snapshot.version or "?"),
            source=line(snapshot.source),
            taken=date(snapshot.taken.timestamp()),
        )
        yield Text(told, style="dim")


def _cards(audit: Audit) -> Iterator[RenderableType]:
    for finding in audit.findings:
        when = date(seconds(finding.since)) if finding.since else ""
        yield card_text(card_of(finding, audit.lang, when=when), audit.lang)
    for result in audit.results:
        if more := result.failing - len(result.gaps):
            yield Text(say("audit-more", audit.lang, check=result.check.id, count=more))


def _rest(audit: Audit) -> Iterator[RenderableType]:
    undecided = [
        (result.check.id, reason(result, audit.lang))
        for result in audit.results
        if result.outcome in _UNDECIDED
    ]
    if undecided:
        yield Text(say("audit-undecided", audit.lang), style="bold underline")
        yield Padding(pairs(undecided), (0, 0, 1, 2))
    counts = (
        f"{say(f'audit-outcome-{outcome}', audit.lang)} {count}" for outcome, count in audit.counts().items()
    )
    yield Text(" · ".join(counts))
