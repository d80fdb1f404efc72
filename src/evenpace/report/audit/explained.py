"""What a check looks for and why, and the list of checks: for a terminal, as JSON and as Markdown."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from functools import partial
from itertools import groupby
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from evenpace.checks.catalogue import Check
from evenpace.report.answer.json import written
from evenpace.report.answer.markdown import fenced, harmless
from evenpace.report.answer.text import Page
from evenpace.report.audit.about import about
from evenpace.report.output import FILE_WIDTH
from evenpace.report.text import SEVERITY_STYLE
from evenpace.report.words import fault
from evenpace.terms import say

_SCHEMA = 1
_WIDE = 100  # columns from which on a check of the list takes one line


def print_check(check: Check, lang: str, console: Console) -> None:
    """Print a check's page: why, what it finds and reads, what to do, and what stands behind it."""
    page, told = Page(console), about(check, lang)
    page.put(
        Text.assemble(_severity(check, lang), "  ", (check.id, "bold"), f"  {fault(told['fault'], lang)}")
    )
    page.put(told["title"], 2)
    for key, text in (("why", told["why"]), ("finds", told["finds"]), ("reads", ", ".join(check.kinds))):
        page.heading(f"audit-{key}", lang)
        page.put(" ".join(text.split()), 4)
    page.heading("audit-advice", lang)
    for number, step in enumerate(told["advice"], 1):
        page.put(step["text"], 7, mark=f"{number}.")
        if step["command"]:
            page.whole(step["command"], 9)
    _behind(page, told, lang)


def _behind(page: Page, told: dict[str, Any], lang: str) -> None:
    if told["incidents"]:
        page.heading("audit-incidents", lang)
    for one in told["incidents"]:
        page.put(f"{one['id']}: {one['title']}", 4)
        page.put(one["why"], 6)
    if told["documents"]:
        page.heading("audit-documents", lang)
    for one in told["documents"]:
        page.put(one["title"], 4)
        page.whole(one["url"], 6)


def print_list(checks: Iterable[Check], lang: str, console: Console) -> None:
    """Print the checks by family, each with what holds where it passes: a line each where there is room."""
    page, narrow = Page(console), console.is_terminal and console.width < _WIDE
    for family, group in groupby(checks, key=lambda check: check.family):
        members = list(group)
        page.put(f"{family.capitalize()} ({len(members)})", style="bold underline")
        label = max(cell_len(_severity(one, lang)[0]) for one in members)
        name = max(len(one.id) for one in members)
        for one in members:
            severity, style = _severity(one, lang)
            title = one.content.title.say(lang, {})
            head = Text.assemble(
                (set_cell_size(severity, label), style), f"  {one.id:{0 if narrow else name}}"
            )
            if narrow:
                page.put(head)
                page.put(title, label + 2, style="dim")
            else:
                console.print(Text.assemble(head, f"  {title}"), soft_wrap=True)
        page.put("")


def _severity(check: Check, lang: str) -> tuple[str, str]:
    """Return the label of a check's severity, and its style."""
    severity = check.content.severity.value
    return say(f"report-severity-{severity}", lang), SEVERITY_STYLE[severity]


def explained_as(form: str, check: Check, lang: str) -> str:
    """Return a check's page in a form to be written: text, json or markdown."""
    if form == "json":
        return written({"schema": _SCHEMA, "check": about(check, lang)})
    return _markdown(check, lang) if form == "markdown" else _plain(partial(print_check, check, lang))


def list_as(form: str, checks: Iterable[Check], lang: str) -> str:
    """Return the list of checks in a form to be written: text, json or markdown."""
    if form == "json":
        return written({"schema": _SCHEMA, "checks": [about(check, lang) for check in checks]})
    if form == "markdown":
        return "".join(
            f"- `{check.id}` ({check.family}, {check.content.severity.value}):"
            f" {harmless(check.content.title.say(lang, {}))}\n"
            for check in checks
        )
    return _plain(partial(print_list, checks, lang))


def _plain(put: Callable[[Console], None]) -> str:
    page = io.StringIO()
    put(Console(file=page, width=FILE_WIDTH, highlight=False, color_system=None))
    return page.getvalue()


def _markdown(check: Check, lang: str) -> str:
    told = about(check, lang)
    parts = [
        f"# {check.id}\n",
        f"{check.family} · {_severity(check, lang)[0]} · {fault(told['fault'], lang)}\n",
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
