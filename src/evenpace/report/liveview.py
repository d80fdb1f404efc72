"""What `--follow` shows: a screen of the run as it stands, or one line an event."""

from __future__ import annotations

from statistics import median

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evenpace.report.balance import under
from evenpace.report.deeds import deed, in_force, reasoned
from evenpace.report.iterations import WorkerMeans, ceiling
from evenpace.report.lanes import letters
from evenpace.report.story import Incarnation, Story
from evenpace.report.text import SEVERITY_STYLE
from evenpace.report.timeline import last_search
from evenpace.report.verdict import outcome, state
from evenpace.report.words import clock, sentence, sparkline
from evenpace.terms import say
from evenpace.terms.spelling import duration, line

_RECENT = 20  # iterations over which workers are compared
_HISTORY = 400  # iterations in the sparkline, at most
_COLUMN = 50  # characters for one worker, at least
_LABEL = 20  # characters for its name
_FINDINGS = 4
_STRATEGIES = 2
_SILENCE = 3.0  # times the baseline, and seconds, after which a missing iteration is worth a line
_ALARM = 1.2  # times the baseline from which the pace is shown in red


def live_view(story: Story, lang: str, size: tuple[int, int], now: float) -> RenderableType:
    """Return the run as it stands at `now` (epoch seconds), for a terminal of `size` (width, height)."""
    width, height = size
    current = story.current()
    parts: list[RenderableType] = [_head(story, current, lang)]
    if current is None or not len(current.iterations):
        return Group(*parts, Text(say("report-live-nothing", lang), style="dim"), _troubles(story, lang))
    parts += [
        *_pace(story, current, lang, width),
        *_silence(story, current, lang, now),
        _troubles(story, lang),
        Text(),
    ]
    parts.append(Text(say("report-live-share", lang, count=_RECENT), style="dim"))
    said = [*range(min(len(_open(story, lang)), _FINDINGS)), *_latest(story, lang)]
    rows = max(height - 13 - len(said) * (1 + 80 // width), 3)
    return Group(*parts, _shares(current, width, rows))


def _head(story: Story, current: Incarnation | None, lang: str) -> Text:
    words = [outcome(state(story), lang), f"{clock(story.latest)} UTC"]
    if current is not None:
        count = len(current.workers) or len(current.iterations.ranks)
        words = [say("report-live-head", lang, number=current.number, count=count), *words]
    name = line(story.run.run) if story.run else "?"
    return Text.assemble((name, "bold"), (f"  {', '.join(words)}", "dim"))


def _pace(story: Story, current: Incarnation, lang: str, width: int) -> list[RenderableType]:
    recent = current.iterations.recent(_HISTORY)
    now, usual = float(recent[-1]), _baseline(story, current)
    ratio = f"{now / usual:.2f}" if usual else "?"
    pace = Text.assemble(
        (f"iteration {current.iterations.highest()}  ", "dim"),
        (duration(now), "bold red" if usual and now > _ALARM * usual else "bold"),
        (f"  {say('report-live-baseline', lang, time=duration(usual), ratio=ratio)}", "dim"),
    )
    spark = sparkline(recent, width - 1, ceiling(recent))
    lane, legend = letters(story, current, width - 1, lang, _HISTORY)
    under_it = [Text(lane, style="bold", no_wrap=True), Text(legend, style="dim")] if lane.strip() else []
    return [pace, Text(spark, style="cyan", no_wrap=True), *under_it, Text(_slowest(current, lang))]


def _silence(story: Story, current: Incarnation, lang: str, now: float) -> list[Text]:
    """Say how long ago the last iteration was, once that is long."""
    ago = now - (current.iterations.last_time() or now)
    if story.end or ago < max(_SILENCE * _baseline(story, current), _SILENCE):
        return []
    return [Text(say("report-live-ago", lang, time=duration(ago)), style="bold red")]


def _baseline(story: Story, current: Incarnation) -> float:
    """Return the median duration, in seconds, of the iterations that lie under no finding."""
    durations = current.iterations.durations
    troubled = np.zeros(len(durations), dtype=np.bool_)
    for raised in story.findings.values():
        troubled |= under(current, raised)
    return float(np.median(durations if troubled.all() else durations[~troubled]))


def _slowest(current: Incarnation, lang: str) -> str:
    means = current.iterations.means(_RECENT)
    worst = max(means, key=lambda mean: mean.busy)
    return say(
        "report-live-slowest",
        lang,
        rank=worst.rank,
        node=line(current.node_of(worst.rank)) or "?",
        busy=duration(worst.busy),
        peers=duration(median(mean.busy for mean in means)),
    )


def _open(story: Story, lang: str) -> list[Text]:
    return [
        Text.assemble(
            (
                say(f"report-severity-{raised.finding.severity.value}", lang),
                SEVERITY_STYLE[raised.finding.severity],
            ),
            f" {clock(raised.onset)} {sentence(raised.finding, lang)}",
        )
        for raised in story.ranked()
        if raised.closed is None
    ]


def _troubles(story: Story, lang: str) -> Table:
    """Lay out the open findings, and the last decision."""
    found = _open(story, lang)
    if len(found) > _FINDINGS:
        found[_FINDINGS:] = [Text(say("report-more", lang, count=len(found) - _FINDINGS))]
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(say("report-live-open", lang), Text("\n").join(found) if found else say("report-none", lang))
    for label, text in _latest(story, lang):
        grid.add_row(label, text)
    return grid


def _latest(story: Story, lang: str) -> list[tuple[str, str]]:
    """Return label and words of the last search, the last decision, and the strategies in force."""
    rows = []
    if searched := last_search(story, lang):
        rows.append((say("report-kind-search", lang).capitalize(), f"{clock(searched.at)} {searched.text}"))
    if story.decisions:
        at, decision = story.decisions[-1]
        words = reasoned if decision.strategy else deed
        rows.append((say("report-kind-decision", lang).capitalize(), f"{clock(at)} {words(decision, lang)}"))
    label = say("report-live-in-force", lang)
    return [*rows, *((label, text) for text in in_force(story, lang)[-_STRATEGIES:])]


def _shares(current: Incarnation, width: int, rows: int) -> Table:
    """Draw the part of an iteration that each worker waits; where not all fit, those that wait least."""
    columns = max(width // _COLUMN, 1)
    means = sorted(current.iterations.means(_RECENT), key=_share)
    shown = sorted(means[: rows * columns], key=lambda mean: mean.rank)
    high = -(-len(shown) // columns)
    grid = Table.grid(padding=(0, 2, 0, 0))
    for i in range(high):
        grid.add_row(*(_bar(current, mean, width // columns - 2) for mean in shown[i::high]))
    return grid


def _share(mean: WorkerMeans) -> float:
    return min(mean.waiting / mean.duration, 1.0) if mean.duration else 0.0


def _bar(current: Incarnation, mean: WorkerMeans, width: int) -> Text:
    name = f"{mean.rank:>4} {line(current.node_of(mean.rank))}"[:_LABEL].ljust(_LABEL)
    room = max(width - _LABEL - 6, 5)
    full = round(_share(mean) * room)
    return Text.assemble(name, ("█" * full, "yellow"), ("·" * (room - full), "dim"), f" {_share(mean):>4.0%}")
