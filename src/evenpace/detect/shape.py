"""What a whole series of durations looks like in hindsight: steady, one lasting step, a drift, teeth, dips.

The baseline decides while a job runs; this looks at all that a log holds. Each shape must stand out of the
noise that the series itself shows, slow changes included (the variance of block means), so that wandering
noise is not a step. Single long iterations (checkpoint, evaluation) are set aside first.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from evenpace.detect.changepoint import locate_onset
from evenpace.detect.robust import medians, noise_of, running_median
from evenpace.detect.shape_kinds import NOTHING, Kind, Shape
from evenpace.detect.shape_levels import episode, few, lasting
from evenpace.detect.shape_recurring import periodic, teeth

__all__ = ["Kind", "Shape", "level_of", "shape_of"]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
_FEW = 20  # points below which only an unmistakable step counts
_BLOCKS = 400  # a long series is looked at as so many block medians, about
_SPIKE = 1.25  # a single iteration so much longer than its neighbourhood is a spike


def shape_of(durations: Array, expected: tuple[float, float] | None = None) -> Shape:
    """Return the shape of `durations` (any unit, positive, in order); `expected` is (low, high) of them.

    What is not finite or not positive is passed over, and so are the first iterations that are longer
    (warm-up).
    """
    durations = np.asarray(durations, dtype=np.float64)
    good = np.flatnonzero(np.isfinite(durations) & (durations > 0))
    skip = _warm_up(durations[good])
    kept = good[skip:]
    shape = _shape(np.log(durations[kept])) if len(kept) else NOTHING
    shape = _in_series(shape, kept)
    return level_of(durations, expected) if expected and shape.kind is Kind.NONE else shape


def _in_series(shape: Shape, kept: Indices) -> Shape:
    """Count positions in the series as it was given."""
    if shape.kind is Kind.NONE:
        return shape
    end = int(kept[shape.end - 1]) + 1 if shape.end else 0
    indices = tuple(int(kept[at]) for at in shape.indices)
    return replace(shape, onset=int(kept[shape.onset]), end=end, indices=indices)


def _warm_up(durations: Array) -> int:
    """Return how many of the first points (three at most, an eighth at most) are far above the median."""
    most = min(3, -(-len(durations) // 8)) if len(durations) > 3 else 0
    if not most:
        return 0
    high = durations[:most] > 1.1 * np.median(durations[most:])
    return int(np.flatnonzero(high)[-1]) + 1 if high.any() else 0


def _shape(logs: Array) -> Shape:
    if len(logs) < _FEW:
        return few(logs)
    spikes = _spikes(logs)
    calm = _without(logs, spikes)
    width = max(1, len(calm) // _BLOCKS)
    blocks = medians(calm, width)
    shape = teeth(blocks, width) or lasting(blocks, width) or episode(blocks)
    if shape is not None:
        return _refined(shape, calm, width)
    return periodic(logs, calm, spikes) or NOTHING


def _spikes(logs: Array) -> Indices:
    """Return the points far above the median of their neighbourhood, in runs of two at most."""
    around = running_median(logs, 11)
    above = logs - around
    high = above > max(np.log(_SPIKE), 6 * noise_of(logs))
    return np.flatnonzero(high)


def _without(logs: Array, spikes: Indices) -> Array:
    calm = logs.copy()
    calm[spikes] = running_median(logs, 11)[spikes]
    return calm


def _refined(shape: Shape, calm: Array, width: int) -> Shape:
    """Find positions in points after the shape was found in blocks."""
    onset, end = shape.onset * width, min(shape.end * width, len(calm))
    if shape.end * width + width > len(calm):
        end = len(calm)
    if shape.kind in (Kind.STEP, Kind.EPISODE):
        onset = _exact(calm, onset, shape, width)
    return replace(shape, onset=onset, end=end)


def _exact(calm: Array, onset: int, shape: Shape, width: int) -> int:
    begin, end = max(0, onset - 2 * width - 4), min(len(calm), onset + 2 * width + 4)
    window = np.exp(calm[begin:end])
    return min(begin + locate_onset(window, shape.level, noise_of(calm)).at, len(calm) - 1)


def level_of(durations: Array, expected: tuple[float, float]) -> Shape:
    """Return the level as a shape if it is outside the expected range, at first and on the whole."""
    good = durations[np.isfinite(durations) & (durations > 0)]
    if not len(good):
        return NOTHING
    low, high = expected
    level = float(np.median(good))
    begin = float(np.median(good[: max(3, len(good) // 4)]))
    if low <= begin <= high or low <= level <= high:
        return NOTHING
    return Shape(Kind.LEVEL, level, level / (high if level > high else low), 0, len(durations))
