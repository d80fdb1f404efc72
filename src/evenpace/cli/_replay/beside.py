"""What today's detector says of a run, beside what was said in the run itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from rich.table import Table
from rich.text import Text

from evenpace.findings import Finding
from evenpace.report.words import who as subject_name
from evenpace.simulate.finding import who
from evenpace.simulate.replay import Replay
from evenpace.simulate.traces.runs import Recording
from evenpace.terms import say
from evenpace.terms.spelling import duration, line

SLOW = frozenset(("communication-slow", "non-communication-slow", "slow-throughput", "data-loader"))

_Row = tuple[int, int, bool, str, str, str]  # start, onset, said today, relief, lost, who


def beside(found: Replay, lang: str) -> Table:
    """Return a table of both, in the order of their onset."""
    made = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    for column in ("start", "onset", "relief", "lost", "said", "who"):
        justify: Literal["left", "right"] = "left" if column in ("said", "who") else "right"
        made.add_column(say(f"replay-col-{column}", lang), justify=justify, overflow="fold")
    rows = [*_today(found, lang), *(_then(found.recording, lang) if found.recording else ())]
    for start, onset, today, relief, lost, name in sorted(rows):
        said = say("replay-today" if today else "replay-then", lang)
        made.add_row(
            str(start), str(onset), relief, lost, Text(said, style="bold" if today else ""), Text(name)
        )
    if not any(row[2] for row in rows):
        made.add_row("", "", "", "", say("replay-today", lang), say("replay-detector-nothing", lang))
    return made


def _today(found: Replay, lang: str) -> Iterator[_Row]:
    nodes = {one.incarnation: one.nodes for one in found.recording.stretches} if found.recording else {}
    for spell in found.spells:
        name = who(spell, nodes.get(spell.incarnation, {})) or say("replay-detector-nobody", lang)
        text = f"{name}, {spell.ratio:.2f} x"
        if not spell.told:
            text = f"{text}; {say('replay-detector-small', lang)}"
        lost = duration(spell.lost) if spell.lost else ""
        yield spell.incarnation, spell.onset, True, _relief(spell.relief, lang), lost, line(text)


def _then(recording: Recording, lang: str) -> Iterator[_Row]:
    for event in recording.raised.values():
        if event.finding.fault not in SLOW or event.iteration is None:
            continue
        closed = recording.closed.get(event.id)
        relief = _relief(closed.iteration if closed else None, lang)
        yield event.incarnation, event.iteration, False, relief, "", _named(event.finding, lang)


def _named(finding: Finding, lang: str) -> str:
    if not finding.names_culprit:
        return say("replay-detector-nobody", lang)
    return line(subject_name(finding.subject, lang))


def _relief(iteration: int | None, lang: str) -> str:
    return say("replay-detector-end", lang) if iteration is None else str(iteration)
