"""The heat map of waiting: workers by iterations, drawn together where a screen cannot show them all."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass

import numpy as np

from evenpace.report.applied import applications
from evenpace.report.balance import during
from evenpace.report.iterations import Floats, Grid
from evenpace.report.lanes import stops
from evenpace.report.story import Incarnation, Story
from evenpace.respond.telling import strategy
from evenpace.terms.spelling import duration, line

_ROWS, _COLUMNS = 256, 600
_TABLE_ROWS, _TABLE_COLUMNS = 64, 8
_PANELS = 20  # the last incarnations; more do not fit side by side
_NO_DATA = 255
_LEVELS = 254


@dataclass(frozen=True, slots=True)
class Panel:
    """One incarnation of the heat map; `strips` are first and last column under a strategy, and its name."""

    incarnation: Incarnation
    grid: Grid
    spans: list[tuple[int, int]]  # first and last iteration number of each column
    strips: list[tuple[int, int, str]]
    stops: list[int]  # columns in which training paused to be measured


@dataclass(frozen=True, slots=True)
class Heat:
    """The heat map. `top` is the waiting time (seconds) of the last colour; `longest` may lie above it."""

    ranks: list[int]
    panels: list[Panel]
    top: float
    longest: float

    def data(self) -> dict[str, object]:
        """Return what the page's script draws: cells as base64, a byte each, row by row; 255 is no data."""
        return {
            "top": self.top,
            "legend": [duration(0.0) if not f else self.label(f) for f in (0.0, 0.5, 1.0)],
            "rows": [self.row(first, last) for first, last in self.panels[0].grid.rows],
            "panels": [self._panel(panel) for panel in self.panels],
        }

    def label(self, fraction: float) -> str:
        """Return the seconds at a fraction of the colour scale."""
        cut = "≥ " if fraction == 1.0 and self.longest > self.top else ""
        return cut + duration(self.top * fraction)

    def row(self, first: int, last: int) -> str:
        """Name the ranks from one index to another."""
        a, b = self.ranks[first], self.ranks[last]
        return str(a) if a == b else f"{a}-{b}"

    def _panel(self, panel: Panel) -> dict[str, object]:
        levels = np.clip(np.nan_to_num(panel.grid.cells / self.top) * _LEVELS, 0, _LEVELS)
        cells = np.where(np.isnan(panel.grid.cells), _NO_DATA, levels).astype(np.uint8)
        nodes = [line(panel.incarnation.node_of(self.ranks[first])) for first, _ in panel.grid.rows]
        return {
            "incarnation": panel.incarnation.number,
            "spans": panel.spans,
            "nodes": nodes,
            "strips": panel.strips,
            "stops": panel.stops,
            "cells": b64encode(cells.tobytes()).decode(),
        }


@dataclass(frozen=True, slots=True)
class HeatTable:
    """The heat map as a table: its columns, and rows of rank, node and durations ("" where not known)."""

    headings: list[str]
    in_force: list[str]  # strategies, by column; empty where there never was one
    rows: list[tuple[str, str, list[str]]]


def heat(story: Story, lang: str, rows: int = _ROWS, columns: int = _COLUMNS) -> Heat | None:
    """Lay the heat map out; None where nothing was measured."""
    shown = [incarnation for incarnation in story.in_order() if len(incarnation.iterations)][-_PANELS:]
    if not shown:
        return None
    ranks = sorted({rank for incarnation in shown for rank in incarnation.iterations.ranks})
    total = sum(len(incarnation.iterations) for incarnation in shown)
    grids = [i.iterations.waiting_grid(ranks, rows, _share(i, total, columns)) for i in shown]
    panels = [_panel(story, i, lang, grid) for i, grid in zip(shown, grids, strict=True)]
    top, longest = _scale(np.concatenate([panel.grid.cells.ravel() for panel in panels]))
    return Heat(ranks, panels, top, longest)


def _share(incarnation: Incarnation, total: int, columns: int) -> int:
    """Return how many of the columns an incarnation takes, by its iterations."""
    return max(1, columns * len(incarnation.iterations) // total)


def _panel(story: Story, incarnation: Incarnation, lang: str, grid: Grid) -> Panel:
    log = incarnation.iterations
    ends = np.array([last for _, last in grid.columns])
    names = []
    for one in applications(story):
        places = np.flatnonzero(during(log.times, one))
        if one.incarnation == incarnation.number and len(places):
            first, last = np.searchsorted(ends, [places[0], places[-1]])
            names.append((int(first), int(last), strategy(one.strategy, lang)))
    paused = [
        int(np.searchsorted(log.times, stop.at, side="right"))
        for stop in stops(story, lang, incarnation.number)
    ]
    columns = [int(np.searchsorted(ends, min(place, len(log) - 1))) for place in paused]
    spans = [(int(log.numbers[a]), int(log.numbers[b])) for a, b in grid.columns]
    return Panel(incarnation, grid, spans, names, columns)


def _scale(cells: Floats) -> tuple[float, float]:
    """Return the top of the colours and the longest waiting: a few outliers must not hide the rest."""
    known = cells[~np.isnan(cells)]
    longest = float(known.max())
    usual = float(np.percentile(known, 98))
    top = usual if usual > 0 and longest > 2 * usual else longest
    return top or 1e-3, longest


def heat_table(story: Story, lang: str) -> HeatTable | None:
    """Return the heat map as a table of few columns."""
    coarse = heat(story, lang, _TABLE_ROWS, _TABLE_COLUMNS)
    if coarse is None:
        return None
    several = len(coarse.panels) > 1
    headings = [
        f"{panel.incarnation.number}: {a}-{b}" if several else f"{a}-{b}"
        for panel in coarse.panels
        for a, b in panel.spans
    ]
    cells = np.concatenate([panel.grid.cells for panel in coarse.panels], axis=1)
    rows = [
        (
            coarse.row(*span),
            _nodes(coarse, span[0]),
            ["" if np.isnan(c) else duration(float(c)) for c in cells[r]],
        )
        for r, span in enumerate(coarse.panels[0].grid.rows)
    ]
    under = [_under(panel, column) for panel in coarse.panels for column in range(len(panel.spans))]
    return HeatTable(headings, under if any(under) else [], rows)


def _under(panel: Panel, column: int) -> str:
    """Name the strategies that were in force in a column."""
    return ", ".join(dict.fromkeys(name for first, last, name in panel.strips if first <= column <= last))


def _nodes(coarse: Heat, index: int) -> str:
    names = (line(panel.incarnation.node_of(coarse.ranks[index])) for panel in coarse.panels)
    return ", ".join(dict.fromkeys(name for name in names if name))
