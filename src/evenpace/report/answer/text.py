"""The answer on a terminal, from 60 columns up, in the order of somebody in a hurry.

Who and what, what to do now, the lines that prove it, the victims, what is missing, similar incidents.
Nothing is padded, and a command is never wrapped: what is copied from the screen runs as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from evenpace.findings import Evidence, Finding
from evenpace.report.answer import Answer, card
from evenpace.report.text import SEVERITY_STYLE
from evenpace.report.view import Card
from evenpace.report.words import evidence
from evenpace.terms import say
from evenpace.terms.spelling import line

MOST_FINDINGS = 6  # that are shown whole
MOST_LINES = 8  # of a finding's proof
MOST_UNEXPLAINED = 16  # where the lines are all there is to say
LONGEST = 420  # characters of a line of a log
NARROWEST = 24


@dataclass(frozen=True, slots=True)
class Page:
    """Write to a console, wrapped and indented by hand; a command stays whole."""

    console: Console

    def put(self, text: str | Text, indent: int = 0, *, mark: str = "", style: str = "") -> None:
        """Print text with a hanging indent, `mark` standing in it."""
        text = Text(text, style=style) if isinstance(text, str) else text
        width = max(self.console.width - indent, NARROWEST)
        for number, row in enumerate(text.wrap(self.console, width, overflow="fold") or [Text()]):
            row.rstrip()
            lead = mark.rjust(indent - 1) + " " if mark and not number else " " * indent
            self.console.print(Text.assemble((lead, "dim"), row), soft_wrap=True)

    def whole(self, text: str, indent: int) -> None:
        """Print text that the terminal may wrap but we never do."""
        for row in text.split("\n"):
            self.console.print(Text(" " * indent + row, style="cyan"), soft_wrap=True)

    def heading(self, key: str, lang: str) -> None:
        """Print the title of a part of a finding."""
        self.put(say(key, lang), 2, style="bold dim")


def print_answer(answer: Answer, console: Console) -> None:
    """Print the answer; colours only where the console is a terminal."""
    page = Page(console)
    for number, finding in enumerate(answer.findings):
        if number == 1:
            page.put(say("answer-further", answer.lang), style="bold underline")
            page.put("")
        _finding(page, finding, answer.lang, brief=number >= MOST_FINDINGS)
    if not answer.findings:
        page.put(say("answer-nothing", answer.lang))
    if answer.unusual:
        page.put(say("answer-unusual", answer.lang), style="dim")
        _proof(page, answer.unusual)
        page.put("")
    for text in closing(answer):
        page.put(text, style="dim")


def _finding(page: Page, finding: Finding, lang: str, *, brief: bool) -> None:
    shown = card(finding, lang)
    head = Text.assemble(
        (shown.severity_label, SEVERITY_STYLE[shown.severity]), "  ", (shown.who, "bold"), f"  {shown.fault}"
    )
    page.put(head)
    page.put(shown.sentence, 2)
    facts = [("report-confidence", shown.confidence), ("report-when", shown.when)]
    page.put(" · ".join(f"{say(key, lang)} {value}" for key, value in facts if value), 2, style="dim")
    if brief:
        page.put("")
        return
    _advice(page, shown, lang)
    if finding.evidence:
        page.heading("report-evidence", lang)
        most = MOST_LINES if shown.advice and finding.names_culprit else MOST_UNEXPLAINED
        _proof(page, finding.evidence[:most])
        if len(finding.evidence) > most:
            page.put(say("report-more-evidence", lang, count=len(finding.evidence) - most), 4, style="dim")
    _rest(page, shown, lang)
    page.put("")


def _advice(page: Page, shown: Card, lang: str) -> None:
    if shown.advice:
        page.heading("answer-advice", lang)
    for number, (text, command) in enumerate(shown.advice, 1):
        page.put(text, 7, mark=f"{number}.")
        if command:
            page.whole(command, 9)


def _proof(page: Page, items: Iterable[Evidence]) -> None:
    """Print lines under the name of their file, with their numbers."""
    by_source: dict[str, list[Evidence]] = {}
    for item in items:
        by_source.setdefault(item.source, []).append(item)
    for source, found in by_source.items():
        page.put(line(source), 4, style="dim")
        for item in found:
            if item.line is None or item.text is None:
                page.put(evidence(item, "en"), 6)
            else:
                page.put(middle_out(line(item.text)), 6 + _digits(found), mark=str(item.line))


def _digits(items: Sequence[Evidence]) -> int:
    return max(len(str(item.line)) for item in items) + 1


def middle_out(text: str) -> str:
    """Return a line without its middle where it is too long to read; its JSON has it whole."""
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST * 2 // 3]} … {text[-LONGEST // 3 :]}"


def _rest(page: Page, shown: Card, lang: str) -> None:
    for key, texts in _parts(shown):
        if texts:
            page.heading(key, lang)
        for text in texts:
            page.put(text, 4)


def _parts(shown: Card) -> Iterator[tuple[str, list[str]]]:
    yield "report-victims", [shown.victims] if shown.victims else []
    yield "report-missing", shown.missing
    yield "report-incidents", [f"{id_}: {why}" for id_, why in shown.incidents]


def closing(answer: Answer) -> list[str]:
    """Return what was read, and what was left out and why, as sentences."""
    said = []
    count = {"files": f"{len(answer.files):,}", "lines": f"{answer.lines:,}", "size": size(answer.size)}
    said.append(say("answer-read", answer.lang, **count))
    for reason, names in answer.skipped.items():
        shown = ", ".join(line(name) for name in names[:3]) + (", …" if len(names) > 3 else "")
        said.append(say(f"answer-skipped-{reason}", answer.lang, count=len(names), names=shown))
    return said


def size(count: float) -> str:
    """Show bytes: `512 B`, `4.1 MB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            break
        count /= 1000
    return f"{count:,.0f} {unit}" if count >= 100 else f"{count:.3g} {unit}"
