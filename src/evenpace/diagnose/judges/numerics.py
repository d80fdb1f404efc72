"""Numeric trouble in the series of loss, gradient norm and loss scale: spikes, NaN, overflow, divergence."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
import re2
from numpy.typing import NDArray

from evenpace.diagnose.formats.iterations import runs, trouble_after
from evenpace.diagnose.formats.iterations_places import LONGEST
from evenpace.diagnose.matching import options
from evenpace.diagnose.model import NOBODY, Case, Line, Series, Sighting

Array = NDArray[np.float64]
_OWN_NAN = re.compile(
    r"[Rr]ank (?P<rank>\d{1,7})(?:: found (?:NaN|Inf) in local|,[^:]{0,120}: Unexpected result (?:nan|inf))"
    r"|Unexpected result (?:nan|inf) on rank (?P<on>\d{1,7})"
)
_MAY_BE_NAN = re2.compile("Unexpected result (?:nan|inf)|(?:NaN|Inf) in local", options())
_NORM = re2.compile("(?i)grad[ _]norm", options())
_ODD_NORM = re.compile(r"grad[ _]norm['\"]?[:=] {0,4}[-+]?(?:nan|inf)", re.IGNORECASE)
_SHOWN = 8
_LEAST = 8  # points of a loss that can be judged
_START_UP = 50  # steps in which a loss scale may still fall to where it fits
_HALVINGS = 4
_SIGMAS, _RISE = 8.0, 0.3
_NEARLY_ZERO = 0.1
_EXPLODED = 20.0
_LASTS = 5
_BEFORE = 20


def judge(case: Case) -> Iterable[Sighting]:
    """Yield numeric trouble: once for each file the most telling of its series, and NaN on many ranks."""
    yield from _many_ranks(case)
    files: dict[str, list[Series]] = {}
    for series in case.series:
        files.setdefault(series.source, []).append(series)
    for own in files.values():
        found = next(_of_source(case, own), None)
        if found is not None:
            yield found


def _many_ranks(case: Case) -> Iterator[Sighting]:
    """Yield that several ranks found NaN in what is their own: then no GPU alone made it."""
    found: dict[int, Line] = {}
    for line in case.lines_with(_MAY_BE_NAN):
        if said := _OWN_NAN.search(line.text[:LONGEST]):
            found.setdefault(int(said["rank"] or said["on"]), line)
    if len(found) < 2:
        return
    shown = tuple(found.values())[: _SHOWN - 1]
    odd = (line for line in case.lines_with(_NORM) if _ODD_NORM.search(line.text[:LONGEST]))
    captures = {"count": str(len(found)), "many": ", ".join(map(str, sorted(found)[:16]))}
    lines = tuple(dict.fromkeys((*shown, *islice(odd, 1))))
    yield Sighting("nan-on-many-ranks", lines, NOBODY, (), captures, None, len(found))


def _of_source(case: Case, own: Sequence[Series]) -> Iterator[Sighting]:
    losses = [series for series in own if series.name == "loss" and len(series.values) > 1]
    scales = [series for series in own if series.name == "loss-scale"]
    yield from _overflows(scales, losses)
    for loss in losses:
        yield from _not_finite(loss, "loss-nan")
    for norm in (series for series in own if series.name == "grad-norm"):
        yield from _gradient_nan(norm, losses)
    for loss in losses:
        for run in runs(loss):
            track = _Track(case, loss, run, _norms(own))
            yield from track.spike()
            yield from track.slow_divergence()
    for norm in (series for series in own if series.name == "grad-norm"):
        yield from _exploded(norm)


def _norms(own: Sequence[Series]) -> dict[int, float]:
    """Return the gradient norm by the number of the line."""
    return {
        line.number: value
        for series in own
        if series.name == "grad-norm"
        for line, value in zip(series.lines, series.values, strict=True)
    }


def _overflows(scales: Sequence[Series], losses: Sequence[Series]) -> Iterator[Sighting]:
    """Yield a loss scale that is halved again and again, after it had once fitted or down to one."""
    for series in sorted(scales, key=lambda one: "reducing" not in one.lines[0].text):
        begin, end = _longest_fall(series.values)
        lines = series.lines[begin:end]
        ratio = series.values[begin] / max(series.values[end - 1], 1e-30)
        if ratio < 2**_HALVINGS or not (_trained_before(losses, lines[0]) or series.values[end - 1] <= 1):
            continue
        captures = {"from": f"{series.values[begin]:.10g}", "to": f"{series.values[end - 1]:.10g}"}
        raised = _raised(losses, lines[0])
        name = "fp16-overflow-diverged" if raised else "fp16-overflow-chain"
        shown = (*lines[:3], *lines[3:][-3:], *raised)
        yield Sighting(name, tuple(dict.fromkeys(shown)), NOBODY, (), captures, None, len(lines))
        return


def _longest_fall(values: Sequence[float]) -> tuple[int, int]:
    """Return the bounds of the stretch without a rise in which values fall the farthest."""
    best, depth, begin = (0, 1), 1.0, 0
    for at in range(1, len(values)):
        if values[at] > values[at - 1] or not math.isfinite(values[at]):
            begin = at
        elif values[begin] / max(values[at], 1e-30) > depth:
            best, depth = (begin, at + 1), values[begin] / max(values[at], 1e-30)
    return best


def _trained_before(losses: Sequence[Series], line: Line) -> bool:
    """Tell whether training was past its start-up when the line was printed."""
    return any(
        step > _START_UP and other.number <= line.number + 1
        for series in losses
        for step, other in zip(series.steps, series.lines, strict=True)
    )


def _raised(losses: Sequence[Series], line: Line) -> tuple[Line, ...]:
    """Return the last line before and the first after, if the loss stays above its level from then on."""
    for series in losses:
        before = [n for n, other in enumerate(series.lines) if other.number < line.number]
        after = [n for n, other in enumerate(series.lines) if other.number > line.number]
        if not before or len(after) < 3:
            continue
        with np.errstate(invalid="ignore"):  # a loss may be infinite
            usual = float(np.median([series.values[n] for n in before[-20:]]))
            since = float(np.median([series.values[n] for n in after[-20:]]))
        if not since <= 1.1 * usual:
            return series.lines[before[-1]], series.lines[after[0]]
    return ()


def _not_finite(series: Series, signature: str) -> Iterator[Sighting]:
    odd = [at for at, value in enumerate(series.values) if not math.isfinite(value)]
    if not odd:
        return
    first = odd[0]
    lines = series.lines[first : first + 4] + series.lines[max(0, first - 3) : first]
    captures = {"step": str(series.steps[first]), "value": str(series.values[first])}
    well_again = series.values[odd[-1] + 1 :]
    certainty = 0.6 if len(well_again) > len(odd) else None
    yield Sighting(signature, lines, NOBODY, (), captures, certainty, len(odd))


def _gradient_nan(norm: Series, losses: Sequence[Series]) -> Iterator[Sighting]:
    """Yield a gradient norm that is not finite for good, or together with a loss of exactly zero."""
    zero = {
        line.number for one in losses for line, value in zip(one.lines, one.values, strict=True) if not value
    }
    odd = [not math.isfinite(value) for value in norm.values]
    both = sum(bad and line.number in zero for bad, line in zip(odd, norm.lines, strict=True))
    since = next((n for n, bad in enumerate(reversed(odd)) if not bad), len(odd))  # length of the odd end
    if (since >= 3 and odd[: len(odd) - since].count(False) >= 2) or both >= 2:
        yield from _not_finite(norm, "grad-norm-nan")


def _exploded(norm: Series) -> Iterator[Sighting]:
    values = np.array(norm.values)
    if len(values) < 4 * _LASTS or not np.isfinite(values).all():
        return
    usual = float(np.median(values[: len(values) // 2]))
    high = values > _EXPLODED * max(usual, 1e-12)
    if not high[-_LASTS:].all():
        return
    first = int(np.flatnonzero(~high)[-1]) + 1 if (~high).any() else 0
    lines = norm.lines[first : first + 4] + norm.lines[max(0, first - 4) : first]
    captures = {
        "before": f"{usual:.3g}",
        "after": f"{np.median(values[first:]):.3g}",
        "step": str(norm.steps[first]),
    }
    yield Sighting("grad-norm-explosion", lines, NOBODY, (), captures)


def _usual(values: Array) -> Array:
    """Return of each value from the third on the median of the twenty before it, or of all there are."""
    usual, window = [], values[:1].tolist()
    for at, value in enumerate(values[1:-1].tolist(), 1):
        insort(window, value)
        if at >= _BEFORE:
            del window[bisect_left(window, float(values[at - _BEFORE]))]
        middle = len(window) // 2
        usual.append(window[middle] if len(window) % 2 else (window[middle - 1] + window[middle]) / 2)
    return np.array(usual)


@dataclass(frozen=True)
class _Track:
    """A loss between two restarts, with the gradient norms of the same lines."""

    case: Case
    loss: Series
    run: range
    norms: dict[int, float]

    @cached_property
    def _values(self) -> Array:
        return np.array(self.loss.values[self.run.start : self.run.stop])

    @cached_property
    def _lines(self) -> tuple[Line, ...]:
        return self.loss.lines[self.run.start : self.run.stop]

    @cached_property
    def _noise(self) -> float:
        """Return the scatter from the smaller half of the differences, which a spike does not reach."""
        small = float(np.quantile(np.abs(np.diff(self._values)), 0.25)) / 0.3186 / math.sqrt(2)
        return max(small, 1e-3 * float(np.median(np.abs(self._values))), 1e-12)

    def spike(self) -> Iterator[Sighting]:
        """Yield the highest rise above what came before, if noise and an uneven batch cannot explain it."""
        values = self._values
        if len(values) < _LEAST or not np.isfinite(values).all():
            return
        usual = _usual(values)
        rises = values[2:] - usual
        peak = int(rises.argmax()) + 2
        level, rise = float(usual[peak - 2]), float(rises[peak - 2])
        if not self._stands_out(level, rise) or not self._confirmed(peak, level, rise):
            return
        yield self._told(peak, level, rise)

    def _stands_out(self, level: float, rise: float) -> bool:
        sigmas = _SIGMAS if level > _NEARLY_ZERO else 2 * _SIGMAS
        return rise > sigmas * self._noise and rise > _RISE * abs(level)

    def _confirmed(self, peak: int, level: float, rise: float) -> bool:
        """Tell whether the gradient norm jumps twice, or the loss is high in three lines in a row."""
        near = range(max(0, peak - 5), min(len(self._values), peak + 6))
        before = [self.norms.get(line.number, math.nan) for line in self._lines[: near.start + 1]]
        known = [value for value in before if math.isfinite(value)]
        around = [self.norms.get(self._lines[at].number, 0.0) for at in near]
        if known and sorted(around)[-2] > 10 * float(np.median(known)):
            return True
        if level <= _NEARLY_ZERO:
            return False
        high = self._values > level + rise / 4
        return any(high[at : at + 3].all() for at in range(max(0, peak - 2), peak + 1) if at + 3 <= len(high))

    def _told(self, peak: int, level: float, rise: float) -> Sighting:
        values, lines = self._values, self._lines
        onset = peak
        while onset > 1 and values[onset - 1] > level + max(3 * self._noise, 0.05 * rise):
            onset -= 1
        rest = values[peak + 1 :]
        back = next((at for at in range(peak + 1, len(values)) if values[at] < level + rise / 4), len(values))
        signature, certainty = self._outcome(rest, level, rise, lines[-1])
        shown = (peak, *range(max(0, onset - 2), onset + 2), back, len(values) - 1)
        chosen = dict.fromkeys(lines[at] for at in shown if at < len(values))
        steps = self.loss.steps[self.run.start : self.run.stop]
        captures = {
            "before": f"{level:.4g}",
            "peak": f"{values[peak]:.4g}",
            "step": str(steps[peak]),
            "first": str(steps[onset]),
            "last": str(steps[min(back, len(steps) - 1)]),
        }
        return Sighting(signature, tuple(chosen)[:_SHOWN], NOBODY, (), captures, certainty)

    def _outcome(self, rest: Array, level: float, rise: float, last: Line) -> tuple[str, float | None]:
        tail = rest[-_LASTS:]
        if len(tail) >= 2 and np.median(tail[-3:]) <= level + max(3 * self._noise, rise / 4):
            return "loss-spike-recovered", 0.4 if trouble_after(self.case, last) else None
        if len(rest) >= _LASTS:
            return "loss-diverged", None
        return "loss-spike-open", 0.4 if trouble_after(self.case, last) else None

    def slow_divergence(self) -> Iterator[Sighting]:
        """Yield a loss that turned and rose ever since, well above its lowest level."""
        values = self._values
        if len(values) < 50 or not np.isfinite(values).all():
            return
        levels = np.array([np.median(part) for part in np.array_split(values, 10)])
        low = int(levels.argmin())
        rise = float(levels[-1] - levels[low])
        if low > 7 or levels[low] < _NEARLY_ZERO or rise < _RISE * abs(levels[low]):
            return
        parts = np.array_split(values, 10)
        spread = float(np.median([np.ptp(np.quantile(part, (0.1, 0.9))) for part in parts]))
        if rise < spread or np.diff(levels[low:]).min() < -0.1 * rise:
            return
        turn = (low + 1) * len(values) // 10 - 1
        lines = (*self._lines[-4:], *self._lines[max(0, turn - 3) : turn + 1])
        steps = self.loss.steps[self.run.start : self.run.stop]
        captures = {
            "before": f"{levels[low]:.4g}",
            "peak": f"{levels[-1]:.4g}",
            "step": str(steps[turn]),
            "first": str(steps[turn]),
            "last": str(steps[-1]),
        }
        yield Sighting("loss-diverged", lines, NOBODY, (), captures, 0.6)
