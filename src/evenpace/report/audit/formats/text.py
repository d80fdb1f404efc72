"""The audit on a terminal, from 60 columns up: the verdict, the gaps worst first, then what was not decided.

The subjects of a check stand together, its advice once. A command is never wrapped.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from evenpace.report.answer.text import Page, middle_out
from evenpace.report.audit import Audit
from evenpace.report.audit.groups import (
    Group,
    Item,
    beside,
    counted,
    groups,
    shortened,
    sources,
    undecided,
    verdict,
)
from evenpace.report.output import FILE_WIDTH
from evenpace.report.text import SEVERITY_STYLE
from evenpace.terms import say

MOST_SUBJECTS = 4  # of a check that are shown with their evidence
FEW = 3  # checks that are seen at a glance


def render(audit: Audit) -> Iterator[str]:
    """Yield the audit as text for a file."""
    page = io.StringIO()
    print_audit(audit, Console(file=page, width=FILE_WIDTH, highlight=False, color_system=None))
    yield page.getvalue()


def print_audit(audit: Audit, console: Console) -> None:
    """Print the audit; colours only where the console is a terminal."""
    page = Page(console)
    for told in sources(audit):
        page.put(told, style="dim")
    page.put(verdict(audit), style="bold")
    page.put("")
    shown = groups(audit)
    for group in shown:
        _group(page, group, audit.lang)
    _beside(page, audit)
    _undecided(page, audit)
    _index(page, shown, audit)
    page.put(counted(audit), style="dim")


def _group(page: Page, group: Group, lang: str) -> None:
    head = (group.severity_label, SEVERITY_STYLE[group.severity])
    page.put(Text.assemble(head, "  ", (group.check.id, "bold"), f"  {group.fault}"))
    for item in group.items[:MOST_SUBJECTS]:
        _item(page, item)
    if rest := group.items[MOST_SUBJECTS:]:
        page.put(say("audit-also", lang, names=shortened((one.who for one in rest), lang)), 2)
    if group.unlisted:
        page.put(say("audit-unlisted", lang, count=group.unlisted), 2)
    page.heading("audit-why", lang)
    page.put(group.why, 4)
    page.heading("audit-advice", lang)
    for number, step in enumerate(group.steps, 1):
        page.put(step.text, 7, mark=f"{number}.")
        for command in step.commands:
            page.whole(command, 9)
    _behind(page, group, lang)
    page.put("")


def _item(page: Page, item: Item) -> None:
    page.put(item.sentence, 2)
    for told in item.facts:
        page.put(told, 4, style="dim")
    for quoted in item.evidence:
        page.put(middle_out(quoted), 6, style="dim")


def _behind(page: Page, group: Group, lang: str) -> None:
    """Print the cases that show it, or else the documents that say it."""
    page.heading("audit-incidents" if group.incidents else "audit-documents", lang)
    for id_, why in group.incidents:
        page.put(f"{id_}: {why}", 4)
    if not group.incidents:
        for title, url in group.documents:
            page.put(title, 4)
            page.whole(url, 4)


def _beside(page: Page, audit: Audit) -> None:
    told = beside(audit)
    if told:
        page.put(say("audit-beside", audit.lang), style="bold underline")
        for one in told:
            page.put(one, 2)
        page.put("")


def _undecided(page: Page, audit: Audit) -> None:
    reasons = undecided(audit)
    if reasons:
        page.put(say("audit-undecided", audit.lang), style="bold underline")
        for why, ids in reasons:
            page.put(why, 2)
            page.put(", ".join(ids), 4, style="dim")
        page.put("")


def _index(page: Page, shown: list[Group], audit: Audit) -> None:
    """Print the failing checks once more, a line each, where a terminal shows the end of the answer."""
    if len(shown) <= FEW:
        return
    page.put(verdict(audit), style="bold")
    label = max(cell_len(group.severity_label) for group in shown)
    name = max(len(group.check.id) for group in shown)
    for group in shown:
        severity = (set_cell_size(group.severity_label, label), SEVERITY_STYLE[group.severity])
        subjects = (say("audit-subjects", audit.lang, count=group.count), "dim")
        page.put(Text.assemble(severity, f"  {group.check.id:{name}}  ", subjects), 2)
    page.put("")
