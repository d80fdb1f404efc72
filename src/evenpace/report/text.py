"""The report on a terminal: the verdict, then facts, findings, timeline and workers, from 60 columns up."""

from __future__ import annotations

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evenpace.report import view
from evenpace.report.iterations import ceiling
from evenpace.report.lanes import letters
from evenpace.report.search import Search, in_lines
from evenpace.report.story import Story
from evenpace.report.timeline import timeline
from evenpace.report.verdict import verdict
from evenpace.report.words import clock, sparkline
from evenpace.terms import say
from evenpace.terms.spelling import duration, line, percent

MOST_WORKERS = 16
_MOST_ROWS = 4  # of a table of measurements
SEVERITY_STYLE = {"critical": "bold red", "warning": "bold yellow", "info": "bold"}
KIND_STYLE = {
    "fault": "red",
    "search": "magenta",
    "decision": "cyan",
    "strategy": "bold cyan",
    "relief": "green",
    "note": "yellow",
    "run": "",
}


def print_report(story: Story, console: Console, lang: str) -> None:
    """Print the report; colours only where the console is a terminal."""
    console.print(render(story, lang, console.width))


def render(story: Story, lang: str, width: int) -> RenderableType:
    """Return the report as one renderable for `width` columns."""
    name = line(story.run.run) if story.run else ""
    title = Text.assemble((say("report-title", lang), "dim"), "  ", (name, "dim"))
    parts: list[RenderableType] = [title, Text(verdict(story, lang), style="bold"), Text()]
    parts.append(pairs(view.facts(story, lang)))
    for heading, body in (
        ("report-findings", _findings(story, lang)),
        ("report-iterations", _iterations(story, lang, width)),
        ("report-timeline", _timeline(story, lang)),
        ("report-workers", _workers(story, lang)),
    ):
        parts += [Text(), Text(say(heading, lang), style="bold underline"), body]
    return Group(*parts)


def pairs(rows: list[tuple[str, str]]) -> Table:
    """Lay out labels and values in two columns."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, value in rows:
        grid.add_row(Text(label), Text(value))
    return grid


def _findings(story: Story, lang: str) -> RenderableType:
    cards = view.cards(story, lang)
    if not cards:
        return Text(say("report-none", lang))
    return Group(*(card_text(card, lang) for card in cards))


def card_text(card: view.Card, lang: str) -> RenderableType:
    """Lay a finding out: who and what, then what is known of it, line by line."""
    head = Text.assemble(
        (card.severity_label, SEVERITY_STYLE[card.severity]), "  ", (card.who, "bold"), f"  {card.fault}"
    )
    rows = [
        ("when", f"{card.when} ({card.state})" if card.state else card.when),
        ("confidence", card.confidence),
        ("done", card.deed),
        ("victims", card.victims),
        *(_search(card.search, lang) if card.search else ()),
        ("evidence", "\n".join(card.evidence)),
        ("advice", "\n".join(f"{text}\n$ {command}" if command else text for text, command in card.advice)),
        ("missing", "\n".join(card.missing)),
        ("incidents", "\n".join(f"{id_}: {why}" for id_, why in card.incidents)),
    ]
    body = Group(
        Text(card.sentence), pairs([(say(f"report-{key}", lang), value) for key, value in rows if value])
    )
    return Group(head, Padding(body, (0, 0, 1, 2)))


def _search(found: Search, lang: str) -> list[tuple[str, str]]:
    """Return what is known of how the cause was sought and answered, a row each."""
    measured = (("narrowed", found.narrowed), ("probed", found.probed), ("strategies", found.strategies))
    return [
        (key, "\n".join(line for one in those for line in in_lines(one, _MOST_ROWS, lang)))
        for key, those in measured
    ]


def _iterations(story: Story, lang: str, width: int) -> RenderableType:
    table = _table("incarnation", "count", "median", "slowest", "outcome", lang=lang)
    sparks: list[RenderableType] = []
    starts = view.starts(story, lang)
    every = [start.durations for start in starts if len(start.durations)]
    top = ceiling(np.concatenate(every)) if every else 0.0
    room = max(width - 6, 10)
    legends: dict[str, None] = {}
    for start in starts:
        median, slowest = duration(start.median), duration(start.slowest)
        table.add_row(str(start.number), str(start.count), median, slowest, Text(start.outcome))
        if spark := sparkline(start.durations, room, top):
            sparks.append(Text(f"{start.number:>3}  {spark}", no_wrap=True, style="cyan"))
        lane, legend = letters(story, story.incarnation(start.number), room, lang)
        if lane:
            sparks.append(Text(f"     {lane}", no_wrap=True, style="bold"))
            legends[legend] = None
    return Group(table, *sparks, *(Text(f"     {legend}", style="dim") for legend in legends))


def _table(*columns: str, lang: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    for column in columns:
        numeric = column in ("count", "median", "slowest", "busy", "waiting", "share")
        table.add_column(say(f"report-col-{column}", lang), justify="right" if numeric else "left")
    return table


def _timeline(story: Story, lang: str) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for moment in timeline(story, lang):
        grid.add_row(clock(moment.at), Text(moment.text, style=KIND_STYLE[moment.kind]))
    return grid


def _workers(story: Story, lang: str) -> RenderableType:
    current = story.current()
    rows = view.workers(current, lang) if current else []
    if not rows:
        return Text(say("report-none", lang))
    shown = sorted(rows, key=lambda row: -(row.busy or 0.0))[:MOST_WORKERS]
    table = _table("rank", "node", "busy", "waiting", "share", "end", lang=lang)
    for row in sorted(shown, key=lambda row: row.rank):
        busy, waiting, share = duration(row.busy), duration(row.waiting), percent(row.share)
        table.add_row(str(row.rank), Text(row.node), busy, waiting, share, Text(row.end))
    if len(shown) == len(rows):
        return table
    return Group(table, Text(say("report-busiest", lang, shown=len(shown), count=len(rows)), style="dim"))
