"""What a whole series of durations looks like in hindsight: steady, one lasting step, a drift, teeth, dips.

The baseline decides while a job runs; this looks at all that a log holds. Each shape must stand out of the noise
that the series itself shows, slow changes included (the variance of block means), so that wandering noise is
not a step. Single long iterations (checkpoint, evaluation) are set aside first.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from evenpace.detect.changepoint import locate_onset

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
_FEW = 20  # points below which only an unmistakable step counts
_BLOCKS = 400  # a long series is looked at as so many block medians, about
_FLOOR = 1.05  # no slowdown below this ratio is a shape
_SURE = 5.0  # standard errors by which two levels must differ
_SPIKE = 1.25  # a single iteration so much longer than its neighbourhood is a spike
_QUIET = 5e-4  # relative noise of a regular series, at least
_GAP = 6.0  # of few points: how much wider the step is than either level scatters
_STARTS = 400  # spikes that are looked at for a period
_NO_INDICES: Indices = np.array([], dtype=np.intp)


class Kind(StrEnum):
    """What a series looks like."""

    NONE = "none"
    STEP = "step"  # sudden and lasting
    EPISODE = "episode"  # slow for a while, then well again
    PERIODIC = "periodic"  # single long iterations at a fixed distance
    SAWTOOTH = "sawtooth"  # slower and slower, then suddenly well, again and again
    DRIFT = "drift"  # slower and slower
    LEVEL = "level"  # outside the expected range from the first iteration on


@dataclass(frozen=True, slots=True)
class Shape:
    """Hold a shape and its numbers, where the kind has them.

    `level` is the healthy duration, `ratio` slow over healthy. `onset` and `end` bound the slow points (`end`
    exclusive). `indices` are the long iterations or the resets, `period` their distance in points, `share` the
    part of all time that they cost. `rate` is the relative growth per point.
    """

    kind: Kind = Kind.NONE
    level: float = 0.0
    ratio: float = 1.0
    onset: int = 0
    end: int = 0
    indices: tuple[int, ...] = ()
    period: float = 0.0
    share: float = 0.0
    rate: float = 0.0


NOTHING = Shape()


def shape_of(durations: Array, expected: tuple[float, float] | None = None) -> Shape:
    """Return the shape of `durations` (any unit, positive, in order); `expected` is (low, high) of them.

    What is not finite or not positive is passed over. A first iteration that is longer (warm-up) is not looked at.
    """
    durations = np.asarray(durations, dtype=np.float64)
    good = np.flatnonzero(np.isfinite(durations) & (durations > 0))
    skip = _warm_up(durations[good])
    kept = good[skip:]
    shape = _shape(np.log(durations[kept])) if len(kept) else NOTHING
    shape = _in_series(shape, kept)
    return _against(shape, durations[kept], expected) if expected and len(kept) else shape


def _in_series(shape: Shape, kept: Indices) -> Shape:
    """Count positions in the series as it was given."""
    if shape.kind is Kind.NONE:
        return shape
    end = int(kept[shape.end - 1]) + 1 if shape.end else 0
    indices = tuple(int(kept[at]) for at in shape.indices)
    return Shape(
        shape.kind,
        shape.level,
        shape.ratio,
        int(kept[shape.onset]),
        end,
        indices,
        shape.period,
        shape.share,
        shape.rate,
    )


def _warm_up(durations: Array) -> int:
    """Return how many of the first points (three at most, an eighth at most) are far above the median."""
    most = min(3, -(-len(durations) // 8)) if len(durations) > 3 else 0
    if not most:
        return 0
    high = durations[:most] > 1.1 * np.median(durations[most:])
    return int(np.flatnonzero(high)[-1]) + 1 if high.any() else 0


def _shape(logs: Array) -> Shape:
    if len(logs) < _FEW:
        return _few(logs)
    spikes = _spikes(logs)
    calm = _without(logs, spikes)
    width = max(1, len(calm) // _BLOCKS)
    blocks = _medians(calm, width)
    for look in (_teeth, _lasting, _episode):
        if (shape := look(blocks, width)) is not None:
            return _refined(shape, calm, width)
    return _periodic(logs, calm, spikes) or NOTHING


def _few(logs: Array) -> Shape:
    """Find a step among few points: both levels nearly flat, one point in between at most."""
    best = NOTHING
    for at in range(3, len(logs) - 2):
        for left in (logs[:at], logs[: at - 1]):
            right = logs[at:]
            if len(left) < 3:
                continue
            gap = right.min() - left.max()
            ratio = float(np.exp(np.median(right) - np.median(left)))
            scatter = max(np.ptp(left), np.ptp(right), _QUIET)
            if ratio >= max(_FLOOR, best.ratio) and gap > _GAP * scatter:
                best = Shape(Kind.STEP, float(np.exp(np.median(left))), ratio, at, len(logs))
    return best


def _spikes(logs: Array) -> Indices:
    """Return the points far above the median of their neighbourhood, in runs of two at most."""
    around = _running_median(logs, 11)
    above = logs - around
    high = above > max(np.log(_SPIKE), 6 * _noise(logs))
    return np.flatnonzero(high)


def _without(logs: Array, spikes: Indices) -> Array:
    calm = logs.copy()
    calm[spikes] = _running_median(logs, 11)[spikes]
    return calm


def _running_median(values: Array, width: int) -> Array:
    half = width // 2
    padded = np.concatenate([values[half:0:-1], values, values[-2 : -half - 2 : -1]])
    return np.asarray(np.median(np.lib.stride_tricks.sliding_window_view(padded, width), axis=1))


def _noise(values: Array) -> float:
    """Estimate the noise of neighbouring points from their differences, untouched by steps and drift."""
    if len(values) < 3:
        return _QUIET
    return max(_QUIET, float(1.4826 / np.sqrt(2) * np.median(np.abs(np.diff(values)))))


def _medians(values: Array, width: int) -> Array:
    whole = len(values) // width * width
    return np.asarray(np.median(values[:whole].reshape(-1, width), axis=1))


def _standard_error(residuals: Array, count: int) -> float:
    """Return the standard error of the mean of `count` points, slow wandering of the residuals included."""
    spread = max(_noise(residuals), float(1.4826 * np.median(np.abs(residuals - np.median(residuals)))))
    length = max(2, int(np.sqrt(len(residuals))))
    means = _medians(residuals, length)
    slow = float(means.std(ddof=1)) * np.sqrt(length) / 1.25 if len(means) > 2 else 0.0
    return max(spread, slow) / float(np.sqrt(count))


def _lasting(values: Array, width: int) -> Shape | None:
    """Find a step that lasts to the end, or a drift, whichever describes the series better."""
    at, left, right = _split(values)
    if at is None:
        return None
    drift = _drift(values, width)
    step = np.where(np.arange(len(values)) < at, left, right)
    if drift is not None and _misfit(values, _line(values)) < _misfit(values, step):
        return drift
    least = max(np.log(_FLOOR), _SURE * _error_of_rise(values - step, at))
    if right - left < least or not _stays(values, at, (left + right) / 2):
        return drift
    return Shape(Kind.STEP, float(np.exp(left)), float(np.exp(right - left)), at, len(values))


def _error_of_rise(residuals: Array, at: int) -> float:
    few, many = sorted((at, len(residuals) - at))
    return _standard_error(residuals, few) * float(np.sqrt(1 + few / many))


def _stays(values: Array, at: int, middle: float) -> bool:
    """Tell whether nearly all before `at` is below the middle, and nearly all from it to the end above."""
    smooth = _running_median(values, 5)
    tail = values[-max(3, (len(values) - at) // 4) :]
    below, above = np.mean(smooth[:at] < middle), np.mean(smooth[at:] > middle)
    return bool(len(values) - at >= 4 and below > 0.85 and above > 0.85 and np.median(tail) > middle)


def _split(values: Array) -> tuple[int | None, float, float]:
    """Return where two levels describe the values best, and the levels: least squares on winsorised values."""
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


def _line(values: Array) -> Array:
    """Return the line through the medians of the first and the last third."""
    count = len(values)
    third = count // 3
    first, last = np.median(values[:third]), np.median(values[count - third :])
    slope = (last - first) / (count - third)
    return np.asarray(first + slope * (np.arange(count) - (third - 1) / 2))


def _drift(values: Array, width: int) -> Shape | None:
    """Find a growth that goes on: each quarter is above the one before, and a line fits."""
    count = len(values)
    if count < 40:
        return None
    quarters = [float(np.median(part)) for part in np.array_split(values, 4)]
    line = _line(values)
    total = float(line[-1] - line[0])
    error = _standard_error(values - line, count // 4)
    rises = np.diff(quarters)
    if total < max(2 * np.log(_FLOOR), _SURE * error) or rises.min() < max(0.1 * total, 2 * error):
        return None
    rate = float(np.expm1(total / ((count - 1) * width)))
    return Shape(Kind.DRIFT, float(np.exp(line[0])), float(np.exp(total)), 0, count, rate=rate)


def _teeth(values: Array, width: int) -> Shape | None:
    """Find slow growth with sudden resets, three teeth at least."""
    smooth = _running_median(values, 3)
    ahead = np.lib.stride_tricks.sliding_window_view(smooth, 3)
    drop = np.median(ahead[:-3], axis=1) - np.median(ahead[3:], axis=1)  # over points i..i+2 and i+3..i+5
    least = max(np.log(_FLOOR), 5 * _noise(values), 0.5 * float(drop.max(initial=0.0)))
    resets = _peaks(drop, least) + 3
    if len(resets) < 3:
        return None
    teeth = [values[begin:end] for begin, end in zip(resets[:-1], resets[1:], strict=True)]
    if np.mean([_grows(tooth, float(np.median(drop[resets - 3]))) for tooth in teeth]) < 0.75:
        return None
    low = float(np.median([np.median(tooth[:3]) for tooth in teeth]))
    height = float(np.median([np.median(tooth[-3:]) for tooth in teeth])) - low
    period = float(np.median(np.diff(resets))) * width
    indices = tuple(int(at) * width for at in resets)
    return Shape(
        Kind.SAWTOOTH,
        float(np.exp(low)),
        float(np.exp(height)),
        0,
        len(values),
        indices,
        period,
        rate=float(np.expm1(height / period)),
    )


def _peaks(values: Array, least: float) -> Indices:
    """Return the positions of local maxima of at least `least`, five points apart."""
    found: list[int] = []
    for at in np.flatnonzero(values >= least):
        if found and at - found[-1] < 5:
            found[-1] = int(at) if values[at] > values[found[-1]] else found[-1]
        else:
            found.append(int(at))
    return np.array(found, dtype=np.intp)


def _grows(tooth: Array, height: float) -> bool:
    """Tell whether a tooth grows all along, rather than by one jump."""
    if len(tooth) < 8:
        return False
    thirds = [float(np.median(part)) for part in np.array_split(tooth, 3)]
    rises = np.diff(thirds)
    return bool(rises.min() > 0.15 * height and thirds[-1] - thirds[0] > 0.4 * height)


def _episode(values: Array, width: int) -> Shape | None:
    """Find the longest stretch that is slow while what comes before and after is not."""
    level, noise = float(np.median(values)), _noise(values)
    high = np.concatenate(
        [[False], _running_median(values, 5) > level + max(np.log(1.15), 6 * noise), [False]]
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


def _periodic(logs: Array, calm: Array, spikes: Indices) -> Shape | None:
    """Find long iterations on a grid, nearly all places of which they fill; others may stand between."""
    starts = spikes[np.diff(spikes, prepend=-9) > 1][:_STARTS]
    best = max((_grid(starts, period) for period in _periods(starts)), key=len, default=_NO_INDICES)
    if len(best) < 5 or len(best) < 0.6 * len(starts):
        return None
    long = np.union1d(best, np.intersect1d(best + 1, spikes))
    level = float(np.median(calm))
    share = float(np.expm1(logs[long] - level).sum() / np.exp(logs - level).sum())
    ratio = float(np.exp(np.median(logs[best]) - level))
    period = float(np.median(np.diff(best)))
    indices = tuple(int(at) for at in best)
    return Shape(Kind.PERIODIC, float(np.exp(level)), ratio, indices[0], len(logs), indices, period, share)


def _periods(starts: Indices) -> list[int]:
    """Return the distances that occur, of spikes that stand near each other in their order."""
    gaps = np.concatenate(
        [starts[step:] - starts[:-step] for step in (1, 2, 3) if len(starts) > step] or [starts]
    )
    found, counts = np.unique(gaps[gaps >= 4], return_counts=True)
    return [int(gap) for gap in found[np.argsort(-counts, kind="stable")][:20]]


def _grid(starts: Indices, period: int) -> Indices:
    """Return the spikes on the fullest grid of a period, or none where a fifth of its places is empty."""
    near = max(1, period // 50)
    phases = starts % period
    apart = np.abs(phases[:, None] - phases[None, :])
    close = np.minimum(apart, period - apart) <= near
    on = starts[close[int(close.sum(axis=1).argmax())]]
    places = (on[-1] - on[0]) / period + 1
    crowded = len(on) > 1.1 * places
    return _NO_INDICES if len(on) < 0.8 * places or crowded else on


def _refined(shape: Shape, calm: Array, width: int) -> Shape:
    """Find positions in points after the shape was found in blocks."""
    onset, end = shape.onset * width, min(shape.end * width, len(calm))
    if shape.end * width + width > len(calm):
        end = len(calm)
    if shape.kind in (Kind.STEP, Kind.EPISODE):
        onset = _exact(calm, onset, shape, width)
    return Shape(
        shape.kind, shape.level, shape.ratio, onset, end, shape.indices, shape.period, shape.share, shape.rate
    )


def _exact(calm: Array, onset: int, shape: Shape, width: int) -> int:
    begin, end = max(0, onset - 2 * width - 4), min(len(calm), onset + 2 * width + 4)
    window = np.exp(calm[begin:end])
    return min(begin + locate_onset(window, shape.level, _noise(calm)).at, len(calm) - 1)


def _against(shape: Shape, durations: Array, expected: tuple[float, float]) -> Shape:
    """Prefer the expected range where the series misses it from its beginning."""
    low, high = expected
    begin = durations[: max(3, len(durations) // 4)]
    if low <= np.median(begin) <= high or shape.kind is not Kind.NONE:
        return shape
    level = float(np.median(durations))
    if low <= level <= high:
        return shape
    return Shape(Kind.LEVEL, level, level / (high if level > high else low), 0, len(durations))
