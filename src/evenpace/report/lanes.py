"""What was in force when, beside the iteration times: strips for drawings, letters for a terminal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenpace.report.applied import applications, pauses
from evenpace.report.balance import during, under
from evenpace.report.story import Incarnation, Story
from evenpace.report.words import clock
from evenpace.respond.telling import strategy
from evenpace.terms import say
from evenpace.terms.spelling import duration

_SLOW, _PAUSE = "·", "P"
_LONG = 0.5  # iterations from which a pause is worth a letter


@dataclass(frozen=True, slots=True)
class Strip:
    """A strategy in force, in seconds since the epoch; `open` where it still is. `text` says all of it."""

    start: float
    end: float
    label: str
    text: str
    open: bool


@dataclass(frozen=True, slots=True)
class Stop:
    """Training had stood still until `at` (seconds since the epoch) to be measured."""

    at: float
    label: str


def strips(story: Story, lang: str, incarnation: int | None = None) -> list[Strip]:
    """Return the strategies that were in force, of one incarnation where given."""
    found = []
    for one in applications(story):
        if incarnation not in (None, one.incarnation):
            continue
        end = one.end if one.end is not None else max(story.latest or one.start, one.start)
        name = strategy(one.strategy, lang)
        until = "" if one.end is None else clock(one.end)
        found.append(Strip(one.start, end, name, f"{name} {clock(one.start)} - {until}", one.end is None))
    return found


def stops(story: Story, lang: str, incarnation: int | None = None) -> list[Stop]:
    """Return the probes that paused the training, of one incarnation where given."""
    return [
        Stop(at, say("report-probe-mark", lang, pause=duration(event.pause)))
        for at, event in sorted(story.probed, key=lambda entry: entry[0])
        if event.pause > 0 and incarnation in (None, event.incarnation)
    ]


def letters(
    story: Story, incarnation: Incarnation, width: int, lang: str, last: int | None = None
) -> tuple[str, str]:
    """Return a line of one letter a column, as `sparkline` lays them out, and its legend.

    Of the `last` iterations only where given.

    Both are empty where no strategy was in force and nothing paused.
    """
    log = incarnation.iterations
    mine = [one for one in applications(story) if one.incarnation == incarnation.number]
    if not len(log):
        return "", ""
    long = _LONG * float(np.median(log.durations))
    stood = [at for at, seconds in pauses(story, incarnation.number) if seconds >= long]
    if not (mine or stood):
        return "", ""
    marks = np.full(len(log), " ")
    for raised in story.findings.values():
        marks[under(incarnation, raised)] = _SLOW
    for one in mine:
        marks[during(log.times, one)] = one.strategy[:1] or "?"
    for at in stood:
        marks[min(int(np.searchsorted(log.times, at, side="right")), len(log) - 1)] = _PAUSE
    marks = marks[-last:] if last else marks
    columns = np.array_split(marks, min(width, len(marks)))
    legend = [f"{_SLOW} {say('report-lane-slow', lang)}"]
    legend += dict.fromkeys(f"{one.strategy[:1] or '?'} {strategy(one.strategy, lang)}" for one in mine)
    legend += [f"{_PAUSE} {say('report-lane-pause', lang)}"] if stood else []
    return "".join(_one(set(column.tolist())) for column in columns), "  ".join(legend)


def _one(found: set[str]) -> str:
    """Return what is worth showing of what falls into one column."""
    if _PAUSE in found:
        return _PAUSE
    rest = sorted(found - {" ", _SLOW})
    return rest[0] if rest else _SLOW if _SLOW in found else " "
