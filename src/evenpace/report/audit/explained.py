"""What a check looks for and why, and the list of checks, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from evenpace.checks.catalogue import Check, Incident, Step
from evenpace.library.catalogue import Library
from evenpace.report.text import SEVERITY_STYLE, pairs
from evenpace.terms import say
from evenpace.terms.bilingual import Text as Bilingual
from evenpace.terms.bilingual import fill_command


def explained(check: Check, lang: str) -> RenderableType:
    """Return a check's page for a terminal."""
    content = check.content
    severity = content.severity.value
    head = Text.assemble(
        (say(f"report-severity-{severity}", lang), SEVERITY_STYLE[severity]), "  ", (check.id, "bold")
    )
    rows = [(say(f"audit-{key}", lang), "\n".join(lines)) for key, lines in _rows(check, lang) if lines]
    return Group(head, Text(content.title.say(lang, {})), Padding(pairs(rows), (0, 0, 0, 2)))


def listed(checks: Iterable[Check], lang: str) -> RenderableType:
    """Return one line a check: id, family and severity, title."""
    rows = [
        (check.id, f"{check.family}, {check.content.severity.value}: {check.content.title.say(lang, {})}")
        for check in checks
    ]
    return pairs(rows)


def _rows(check: Check, lang: str) -> Iterator[tuple[str, list[str]]]:
    content = check.content
    yield "why", [content.why.say(lang, {})]
    yield "finds", [content.gap.say(lang, {})]
    yield "reads", [", ".join(check.kinds)]
    yield "advice", [_step(one, lang) for one in content.advice]
    yield "incidents", [_incident(one, lang) for one in content.incident]
    yield "documents", [f"{one.title}\n{one.url}" for one in content.document]


def _step(step: Step, lang: str) -> str:
    said = Bilingual(step.en, step.ko).say(lang, {})
    return f"{said}\n$ {fill_command(step.command, {})}" if step.command else said


def _incident(one: Incident, lang: str) -> str:
    return f"{one.id}: {_title(one.id, lang)}\n{one.ko if lang == 'ko' else one.en}"


def _title(id_: str, lang: str) -> str:
    return _library().get(id_).text(lang).title


@cache
def _library() -> Library:
    return Library.open()
