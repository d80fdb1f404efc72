"""Iteration lines of trainers and servers as series of numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evenpace.diagnose.formats.iterations_columns import columns_of
from evenpace.diagnose.formats.iterations_places import LONGEST, place_in, place_of
from evenpace.diagnose.model import NOBODY, Case, Identity, Line, Series

POINTS = 20_000  # of a series, at most
_TROUBLE = re.compile(
    r"Traceback|[Ee]rror\b|ERROR|FATAL|[Ff]atal|fault\b|Killed|SIG[A-Z]{3,5}\b|[Ss]ignal \d|CANCELLED|"
    r"[Ww]atchdog|\bXid\b|[Aa]borted|Exception\b|[Tt]imed out|NCCL WARN"
)
_SIDES = 20  # one in so many points is kept for being among the largest, and among the smallest


def series_of(lines: Sequence[Line]) -> tuple[Series, ...]:
    """Return the series in `lines`: one a file, printer, way of printing and column, of two points or more.

    Steps are the program's own, or count its lines where it prints none. Above 20,000 points a series is
    thinned: evenly, but its extremes and all that is not finite stay.
    """
    tracks: dict[tuple[str, Identity, str, str, str], _Track] = {}
    counts: dict[tuple[str, Identity, str], int] = {}
    for line in lines:
        place = place_of(line.text)
        if place is None:
            continue
        of = (line.source, line.printer, place.kind)
        step = counts.get(of, 0) if place.step is None else place.step
        counts[of] = counts.get(of, 0) + 1
        for name, unit, value in columns_of(line.text, place):
            key = (line.source, line.printer, place.kind, place.variant, name)
            tracks.setdefault(key, _Track(unit)).add(step, value, line)
    return tuple(
        track.series(source, name, printer)
        for (source, printer, _, _, name), track in tracks.items()
        if len(track.lines) > 1
    )


def comparisons(lines: Iterable[Line]) -> list[tuple[str, float, Line]]:
    """Return name, value and line of each column of iteration lines that stand commented out (`# …`)."""
    return [
        (name, value, line)
        for line in lines
        if line.text.lstrip().startswith("#") and (place := place_in(line.text.lstrip("# \t")))
        for name, _, value in columns_of(line.text, place)
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
    return any(
        (other.source != line.source or other.number > line.number) and _TROUBLE.search(other.text[:LONGEST])
        for other in case.lines
    )


@dataclass(slots=True)
class _Track:
    unit: str
    steps: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)

    def add(self, step: int, value: float, line: Line) -> None:
        self.steps.append(step)
        self.values.append(value)
        self.lines.append(line)

    def series(self, source: str, name: str, printer: Identity = NOBODY) -> Series:
        kept = thinned(np.array(self.values), POINTS)
        return Series(
            source,
            name,
            self.unit,
            tuple(self.steps[at] for at in kept),
            tuple(self.values[at] for at in kept),
            tuple(self.lines[at] for at in kept),
            printer,
        )


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
