"""The answer on a terminal, from 60 columns up: who and what first, then proof, advice and what is missing."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.text import Text

from evenpace.report.answer import Answer
from evenpace.report.text import card_text
from evenpace.report.view import card_of
from evenpace.report.words import date, evidence, line
from evenpace.terms import say
from evenpace.watch.events import seconds


def print_answer(answer: Answer, console: Console) -> None:
    """Print the answer; colours only where the console is a terminal."""
    console.print(render(answer))


def render(answer: Answer) -> RenderableType:
    """Return the answer as one renderable."""
    parts: list[RenderableType] = []
    for number, finding in enumerate(answer.findings):
        if number == 1:
            parts.append(Text(say("answer-further", answer.lang), style="bold underline"))
        when = date(seconds(finding.since)) if finding.since else ""
        parts.append(card_text(card_of(finding, answer.lang, when=when), answer.lang))
    if not answer.findings:
        parts.append(Text(say("answer-nothing", answer.lang)))
    if answer.unusual:
        parts.append(Text(say("answer-unusual", answer.lang), style="dim"))
        parts += [Text(f"  {evidence(item, answer.lang)}") for item in answer.unusual]
    parts += [Text(text, style="dim") for text in closing(answer)]
    return Group(*parts)


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
    return f"{count:.3g} {unit}" if count < 1000 else f"{count:,.0f} {unit}"
