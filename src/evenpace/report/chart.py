"""The plot of iteration time: the same numbers for the page's script and for the drawing without one."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from evenpace.report.iterations import Floats, ceiling, thin
from evenpace.report.lanes import Stop, Strip, stops, strips
from evenpace.report.story import Raised, Story
from evenpace.report.words import clock, listed
from evenpace.terms.spelling import duration

LANE = 34.0  # pixels: two rows of text
WIDTH, HEIGHT = 1000.0, 260.0  # of the static drawing, without its margins
_POINTS = 4000
_STATIC_POINTS = 1200
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400, 604800, 2592000)
_TICKS = 8
_LABEL = 24  # characters


@dataclass(frozen=True, slots=True)
class Band:
    """A finding's span on the time axis, in seconds since the epoch; `number` is its place in the table."""

    start: float
    end: float
    label: str
    open: bool


@dataclass(frozen=True, slots=True)
class Chart:
    """Iteration time over wall time. `lines` holds one series (times, seconds) an incarnation."""

    lines: list[tuple[Floats, Floats]]
    bands: list[Band]
    strips: list[Strip]
    stops: list[Stop]
    restarts: list[float]
    start: float
    end: float
    top: float
    above: int  # iterations that are longer than the scale
    longest: float

    @property
    def lane(self) -> float:
        """Return the height above the drawing that strategies and probes take."""
        return LANE if self.strips or self.stops else 0.0

    def x(self, at: float) -> float:
        """Return the place of a time on the static drawing."""
        return round((at - self.start) / (self.end - self.start) * WIDTH, 1)

    def y(self, seconds: float) -> float:
        """Return the height of a duration on the static drawing, cut at its top."""
        return round(HEIGHT * (1 - min(seconds / self.top, 1.0)), 1)

    def polylines(self) -> list[str]:
        """Return the lines as points of the static drawing."""
        thinned = (thin(times, seconds, _STATIC_POINTS) for times, seconds in self.lines)
        return [" ".join(f"{self.x(t)},{self.y(s)}" for t, s in zip(*line, strict=True)) for line in thinned]

    def x_ticks(self) -> list[tuple[float, str]]:
        """Return ticks of time: place and label."""
        span = self.end - self.start
        step = next((s for s in _STEPS if span / s <= _TICKS), span / _TICKS)
        first = np.ceil(self.start / step) * step
        return [(self.x(float(at)), clock(float(at))) for at in np.arange(first, self.end, step)]

    def y_ticks(self) -> list[tuple[float, str]]:
        """Return ticks of duration: height and label."""
        step = _nice(self.top / 4)
        return [(self.y(float(s)), duration(float(s)) if s else "0") for s in np.arange(0, self.top, step)]

    def data(self) -> dict[str, object]:
        """Return what the page's script draws: one series with a gap (None) between incarnations."""
        times: list[float] = []
        seconds: list[float | None] = []
        for line in self.lines:
            shown = thin(*line, _POINTS)
            if times:
                times.append((times[-1] + float(shown[0][0])) / 2)
                seconds.append(None)
            times += [round(float(t), 3) for t in shown[0]]
            seconds += [round(float(s), 6) for s in shown[1]]
        bands = [{"start": b.start, "end": b.end, "label": b.label, "open": b.open} for b in self.bands]
        strips = [
            {"start": s.start, "end": s.end, "label": s.label, "text": s.text, "open": s.open}
            for s in self.strips
        ]
        stops = [{"at": s.at, "label": s.label} for s in self.stops]
        marks = {
            "bands": bands,
            "strips": strips,
            "stops": stops,
            "restarts": self.restarts,
            "lane": self.lane,
        }
        span = {"start": self.start, "end": self.end, "top": self.top}
        return {"times": times, "seconds": seconds, **marks, **span}


def chart(story: Story, lang: str) -> Chart | None:
    """Lay the plot out; None where there is nothing to draw."""
    lines = [_line(i.iterations.times, i.iterations.durations) for i in story.in_order() if len(i.iterations)]
    if not lines or story.latest is None:
        return None
    bands = [_band(story, number, raised) for number, raised in enumerate(story.ranked(), 1)]
    start = min(float(times[0] - seconds[0]) for times, seconds in lines)
    end = max(story.latest, *(float(times[-1]) for times, _ in lines))
    start, end = min([start, *(b.start for b in bands)]), max(end, start + 1.0)
    every = np.concatenate([seconds for _, seconds in lines])
    longest = float(every.max())
    top = ceiling(every) * 1.1 or 1.0
    restarts = [b.started for _, b in pairwise(story.in_order()) if b.started is not None]
    marks = (strips(story, lang), stops(story, lang))
    return Chart(lines, bands, *marks, restarts, start, end, top, int((every > top).sum()), longest)


def _line(times: Floats, seconds: Floats) -> tuple[Floats, Floats]:
    order = np.argsort(times, kind="stable")
    return times[order], seconds[order]


def _band(story: Story, number: int, raised: Raised) -> Band:
    subject = raised.finding.subject
    place = subject.node if subject.node is not None else subject.link
    name = "" if place is None else f" {listed(place)}"
    end = raised.closed if raised.closed is not None else story.latest or raised.onset
    return Band(raised.onset, max(end, raised.onset), f"#{number}{name}"[:_LABEL], raised.closed is None)


def _nice(step: float) -> float:
    """Round a step up to 1, 2 or 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(step))
    return float(next(n for n in (1, 2, 5, 10) if n * power >= step * 0.999) * power)
