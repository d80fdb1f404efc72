"""Levels of a series of log durations: a lasting step, a drift, a stretch that is slow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenpace.detect.robust import QUIET, line_through, noise_of, running_median, standard_error
from evenpace.detect.shape_kinds import FLOOR, NOTHING, Kind, Shape

Array = NDArray[np.float64]
_SURE = 5.0  # standard errors by which two levels must differ
_RAMP, _RAMP_RATIO = 7, 1.15  # points, and their growth, from which a growth at nearly every point counts
_GAP = 6.0  # of few points: how much wider the step is than either level scatters


def few(logs: Array) -> Shape:
    """Find a step among few points: both levels nearly flat, one point in between at most."""
    best = NOTHING
    for at in range(3, len(logs) - 2):
        for left in (logs[:at], logs[: at - 1]):
            right = logs[at:]
            if len(left) < 3:
                continue
            gap = right.min() - left.max()
            ratio = float(np.exp(np.median(right) - np.median(left)))
            scatter = max(np.ptp(left), np.ptp(right), QUIET)
            if ratio >= max(FLOOR, best.ratio) and gap > _GAP * scatter:
                best = Shape(Kind.STEP, float(np.exp(np.median(left))), ratio, at, len(logs))
    return best if best.kind is Kind.STEP else _ramp(logs)


def _ramp(logs: Array) -> Shape:
    """Find, among few points, a growth at nearly every point: one that has ended is a step, else a drift."""
    total = float(np.median(logs[-3:]) - np.median(logs[:2])) if len(logs) >= _RAMP else 0.0
    back = np.minimum(np.diff(logs), 0)
    if total < np.log(_RAMP_RATIO) or -back.sum() > 0.05 * total or np.diff(logs).max() > 0.7 * total:
        return NOTHING
    onset = int(np.argmax(logs > np.median(logs[:2]) + total / 4))
    kind = Kind.STEP if np.ptp(logs[-3:]) < 0.1 * total else Kind.DRIFT
    rate = float(np.expm1(total / (len(logs) - 1)))
    return Shape(kind, float(np.exp(np.median(logs[:2]))), float(np.exp(total)), onset, len(logs), rate=rate)


def lasting(values: Array, width: int) -> Shape | None:
    """Find a step that lasts to the end, or a drift, whichever describes the series better."""
    at, left, right = _split(values)
    if at is None:
        return None
    drift = _drift(values, width)
    step = np.where(np.arange(len(values)) < at, left, right)
    if drift is not None and _misfit(values, line_through(values)) < _misfit(values, step):
        return drift
    least = max(np.log(FLOOR), _SURE * _error_of_rise(values - step, at))
    if right - left < least or not _stays(values, at, (left + right) / 2):
        return drift
    return Shape(Kind.STEP, float(np.exp(left)), float(np.exp(right - left)), at, len(values))


def _error_of_rise(residuals: Array, at: int) -> float:
    fewer, more = sorted((at, len(residuals) - at))
    return standard_error(residuals, fewer) * float(np.sqrt(1 + fewer / more))


def _stays(values: Array, at: int, middle: float) -> bool:
    """Tell whether nearly all before `at` is below the middle, and nearly all from it to the end above."""
    smooth = running_median(values, 5)
    tail = values[-max(3, (len(values) - at) // 4) :]
    below, above = np.mean(smooth[:at] < middle), np.mean(smooth[at:] > middle)
    return bool(len(values) - at >= 4 and below > 0.85 and above > 0.85 and np.median(tail) > middle)


def _split(values: Array) -> tuple[int | None, float, float]:
    """Return where two levels describe the (winsorised) values best by least squares, and the levels."""
    centre, spread = np.median(values), np.ptp(np.quantile(values, (0.02, 0.98)))
    clipped = np.clip(values, centre - spread, centre + spread)
    count = np.arange(1, len(values))
    sums = np.cumsum(clipped)
    left, right = sums[:-1] / count, (sums[-1] - sums[:-1]) / (len(values) - count)
    gain = (right - left) ** 2 * count * (len(values) - count)
    gain[:2] = gain[-2:] = -1
    at = int(gain.argmax()) + 1
    if right[at - 1] <= left[at - 1]:
        return None, 0.0, 0.0
    return at, float(np.median(values[:at])), float(np.median(values[at:]))


def _misfit(values: Array, model: Array) -> float:
    return float(np.mean(np.abs(values - model)))


def _drift(values: Array, width: int) -> Shape | None:
    """Find a growth that goes on: each quarter is above the one before, and a line fits."""
    count = len(values)
    if count < 40:
        return None
    quarters = [float(np.median(part)) for part in np.array_split(values, 4)]
    line = line_through(values)
    total = float(line[-1] - line[0])
    error = standard_error(values - line, count // 4)
    rises = np.diff(quarters)
    if total < max(2 * np.log(FLOOR), _SURE * error) or rises.min() < max(0.1 * total, 2 * error):
        return None
    rate = float(np.expm1(total / ((count - 1) * width)))
    return Shape(Kind.DRIFT, float(np.exp(line[0])), float(np.exp(total)), 0, count, rate=rate)


def episode(values: Array) -> Shape | None:
    """Find the longest stretch that is slow while what comes before and after is not."""
    level, noise = float(np.median(values)), noise_of(values)
    high = np.concatenate(
        [[False], running_median(values, 5) > level + max(np.log(1.15), 6 * noise), [False]]
    )
    edges = np.flatnonzero(np.diff(high.astype(np.int8)))
    stretches = [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True) if b - a >= 4]
    begin, end = max(stretches, key=lambda one: one[1] - one[0], default=(0, 0))
    if begin < 4 or end > len(values) - 4 or end - begin > len(values) // 2:
        return None
    if max(np.median(values[:begin]), np.median(values[end:])) > (level + np.median(values[begin:end])) / 2:
        return None
    ratio = float(np.exp(np.median(values[begin:end]) - level))
    share = float(np.expm1(values[begin:end] - level).sum() / np.exp(values - level).sum())
    return Shape(Kind.EPISODE, float(np.exp(level)), ratio, begin, end, share=share)
