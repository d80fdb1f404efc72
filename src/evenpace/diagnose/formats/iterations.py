"""Iteration lines of trainers and servers as series of numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import re2
from numpy.typing import NDArray

from evenpace.diagnose.formats.iterations_columns import read, read_commented
from evenpace.diagnose.formats.iterations_places import LONGEST
from evenpace.diagnose.matching import options
from evenpace.diagnose.model import Case, Identity, Line, Series

POINTS = 20_000  # of a series, at most
_TROUBLE = re.compile(
    r"Traceback|[Ee]rror\b|ERROR|FATAL|[Ff]atal|fault\b|Killed|SIG[A-Z]{3,5}\b|[Ss]ignal \d|CANCELLED|"
    r"[Ww]atchdog|\bXid\b|[Aa]borted|Exception\b|[Tt]imed out|NCCL WARN"
)
_MAY_BE_TROUBLE = re2.compile(_TROUBLE.pattern, options())
_SIDES = 20  # one in so many points is kept for being among the largest, and among the smallest


def series_of(lines: Sequence[Line]) -> tuple[Series, ...]:
    """Return the series in `lines`: one a file, printer, way of printing and column, of two points or more.

    Steps are the program's own, or count its lines where it prints none. Above 20,000 points a series is
    thinned: evenly, but its extremes and all that is not finite stay.
    """
    tracks: list[_Track] = []
    printers: dict[tuple[str, Identity, str], _Printer] = {}
    for line in lines:
        said = read(line.text)
        if said is None:
            continue
        place, columns = said
        of = printers.setdefault((line.source, line.printer, place.kind), _Printer())
        step = of.count if place.step is None else place.step
        of.count += 1
        for name, unit, value in columns:
            if (track := of.tracks.get((place.variant, name))) is None:
                track = of.tracks[place.variant, name] = _Track(name, unit)
                tracks.append(track)
            track.add(step, value, line)
    return tuple(track.series() for track in tracks if len(track.lines) > 1)


def comparisons(lines: Iterable[Line]) -> list[tuple[str, float, Line]]:
    """Return name, value and line of each column of iteration lines that stand commented out (`# …`)."""
    return [
        (name, value, line)
        for line in lines
        if "#" in line.text[:80]
        and line.text.lstrip().startswith("#")
        and (said := read_commented(line.text.lstrip("# \t")))
        for name, _, value in said[1]
    ]


def runs(series: Series) -> Iterator[range]:
    """Yield the positions of each run of a series: a step that goes back begins a new one."""
    begin = 0
    for at in range(1, len(series.steps)):
        if series.steps[at] < series.steps[at - 1]:
            yield range(begin, at)
            begin = at
    yield range(begin, len(series.steps))


def trouble_after(case: Case, line: Line) -> bool:
    """Tell whether something looks like a failure after a line, in its file or anywhere in another."""
    last = case.once(_last_trouble)
    return any(source != line.source for source in last) or last.get(line.source, 0) > line.number


def _last_trouble(case: Case) -> dict[str, int]:
    """Return of each file that has one the number of the last line that looks like a failure."""
    return {
        line.source: line.number
        for line in case.lines_with(_MAY_BE_TROUBLE)
        if _TROUBLE.search(line.text[:LONGEST])
    }


@dataclass(slots=True)
class _Printer:
    """One way of printing of one printer in one file: how many lines it has, and its columns."""

    count: int = 0
    tracks: dict[tuple[str, str], _Track] = field(default_factory=dict)


@dataclass(slots=True)
class _Track:
    name: str
    unit: str
    steps: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)

    def add(self, step: int, value: float, line: Line) -> None:
        self.steps.append(step)
        self.values.append(value)
        self.lines.append(line)

    def series(self) -> Series:
        steps, values, lines = tuple(self.steps), tuple(self.values), tuple(self.lines)
        if len(values) > POINTS:
            kept = thinned(np.array(values), POINTS).tolist()
            steps = tuple(steps[at] for at in kept)
            values = tuple(values[at] for at in kept)
            lines = tuple(lines[at] for at in kept)
        return Series(lines[0].source, self.name, self.unit, steps, values, lines, lines[0].printer)


def thinned(values: NDArray[np.float64], points: int) -> NDArray[np.intp]:
    """Return the indices of at most `points` of `values`, ascending: evenly, with the extremes.

    The extremes are what is not finite, the largest and the smallest, each a twentieth of the points.
    """
    if len(values) <= points:
        return np.arange(len(values))
    side = points // _SIDES
    strange = np.flatnonzero(~np.isfinite(values))[:side]
    order = np.argsort(np.nan_to_num(values, nan=0.0), kind="stable")
    even = np.linspace(0, len(values) - 1, points - 3 * side).astype(np.intp)
    return np.unique(np.concatenate([even, strange, order[:side], order[len(order) - side :]]))
