"""What a check looks for and why, and the list of checks: for a terminal, as JSON and as Markdown."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from evenpace.checks.catalogue import Check, Incident, Step
from evenpace.library.catalogue import Library
from evenpace.report.answer.json import written
from evenpace.report.answer.markdown import fenced, harmless
from evenpace.report.output import FILE_WIDTH
from evenpace.report.text import SEVERITY_STYLE, pairs
from evenpace.report.words import fault
from evenpace.terms import say
from evenpace.terms.bilingual import Text as Bilingual
from evenpace.terms.bilingual import fill_command

_SCHEMA = 1


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


def explained_as(form: str, check: Check, lang: str) -> str:
    """Return a check's page in a form to be written: text, json or markdown."""
    if form == "json":
        return written({"schema": _SCHEMA, "check": as_data(check, lang)})
    return _markdown(check, lang) if form == "markdown" else _plain(explained(check, lang))


def list_as(form: str, checks: Iterable[Check], lang: str) -> str:
    """Return the list of checks in a form to be written: text, json or markdown."""
    if form == "json":
        return written({"schema": _SCHEMA, "checks": [as_data(check, lang) for check in checks]})
    if form == "markdown":
        return "".join(
            f"- `{check.id}` ({check.family}, {check.content.severity.value}):"
            f" {harmless(check.content.title.say(lang, {}))}\n"
            for check in checks
        )
    return _plain(listed(checks, lang))


def as_data(check: Check, lang: str) -> dict[str, Any]:
    """Return what a check is, in `lang`, as plain data."""
    content = check.content
    return {
        "id": check.id,
        "family": check.family,
        "severity": content.severity.value,
        "fault": content.fault,
        "title": content.title.say(lang, {}),
        "why": content.why.say(lang, {}),
        "finds": content.gap.say(lang, {}),
        "reads": {
            "judged": list(check.judged),
            "needs": list(check.needs),
            "if_served": list(check.if_served),
        },
        "advice": [
            {"text": _said(one, lang), "command": one.command and fill_command(one.command, {})}
            for one in content.advice
        ],
        "incidents": [
            {"id": one.id, "title": _title(one.id, lang), "why": _why(one, lang)} for one in content.incident
        ],
        "documents": [{"title": one.title, "url": one.url} for one in content.document],
    }


def _markdown(check: Check, lang: str) -> str:
    told = as_data(check, lang)
    severity = say(f"report-severity-{told['severity']}", lang)
    parts = [
        f"# {check.id}\n",
        f"{check.family} · {severity} · {fault(told['fault'], lang)}\n",
        f"**{harmless(told['title'])}**\n",
        f"{harmless(told['why'])}\n",
        f"> {harmless(told['finds'])}\n",
        f"## {say('audit-advice', lang)}\n",
    ]
    for number, step in enumerate(told["advice"], 1):
        block = f"\n{fenced(step['command'], 'sh', '   ')}" if step["command"] else ""
        parts.append(f"{number}. {harmless(step['text'])}\n{block}")
    sections = {
        "incidents": [f"{o['id']}, {harmless(o['title'])}: {harmless(o['why'])}" for o in told["incidents"]],
        "documents": [f"[{harmless(one['title'])}](<{one['url']}>)" for one in told["documents"]],
        "reads": [f"`{kind}`" for kind in check.kinds],
    }
    for key, items in sections.items():
        if items:
            parts += [f"## {say(f'audit-{key}', lang)}\n", "".join(f"- {item}\n" for item in items)]
    return "\n".join(parts)


def _plain(shown: RenderableType) -> str:
    page = io.StringIO()
    Console(file=page, width=FILE_WIDTH, highlight=False, color_system=None).print(shown)
    return page.getvalue()


def _rows(check: Check, lang: str) -> Iterator[tuple[str, list[str]]]:
    content = check.content
    yield "why", [content.why.say(lang, {})]
    yield "finds", [content.gap.say(lang, {})]
    yield "reads", [", ".join(check.kinds)]
    yield "advice", [_step(one, lang) for one in content.advice]
    yield "incidents", [f"{one.id}: {_title(one.id, lang)}\n{_why(one, lang)}" for one in content.incident]
    yield "documents", [f"{one.title}\n{one.url}" for one in content.document]


def _step(step: Step, lang: str) -> str:
    said = _said(step, lang)
    return f"{said}\n$ {fill_command(step.command, {})}" if step.command else said


def _said(step: Step, lang: str) -> str:
    return Bilingual(step.en, step.ko).say(lang, {})


def _why(one: Incident, lang: str) -> str:
    return one.ko if lang == "ko" else one.en


def _title(id_: str, lang: str) -> str:
    return _library().get(id_).text(lang).title


@cache
def _library() -> Library:
    return Library.open()
