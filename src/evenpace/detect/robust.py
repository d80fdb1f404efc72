"""Level, noise and standard errors of a series that neither spikes nor steps nor wandering noise deceive."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
QUIET = 5e-4  # noise of the log of a perfectly regular series, at least


def running_median(values: Array, width: int) -> Array:
    """Return the median of the `width` (odd) values around each one; the ends are mirrored."""
    half = width // 2
    padded = np.concatenate([values[half:0:-1], values, values[-2 : -half - 2 : -1]])
    return np.asarray(np.median(np.lib.stride_tricks.sliding_window_view(padded, width), axis=1))


def noise_of(values: Array) -> float:
    """Estimate the noise of neighbouring points from their differences, untouched by steps and drift."""
    if len(values) < 3:
        return QUIET
    return max(QUIET, float(1.4826 / np.sqrt(2) * np.median(np.abs(np.diff(values)))))


def medians(values: Array, width: int) -> Array:
    """Return the medians of whole blocks of `width` values; what is left at the end is dropped."""
    whole = len(values) // width * width
    return np.asarray(np.median(values[:whole].reshape(-1, width), axis=1))


def standard_error(residuals: Array, count: int) -> float:
    """Return the standard error of the mean of `count` points, slow wandering of the residuals included."""
    spread = max(noise_of(residuals), float(1.4826 * np.median(np.abs(residuals - np.median(residuals)))))
    length = max(2, int(np.sqrt(len(residuals))))
    means = medians(residuals, length)
    slow = float(means.std(ddof=1)) * np.sqrt(length) / 1.25 if len(means) > 2 else 0.0
    return max(spread, slow) / float(np.sqrt(count))


def line_through(values: Array) -> Array:
    """Return the line through the medians of the first and the last third."""
    count = len(values)
    third = count // 3
    first, last = np.median(values[:third]), np.median(values[count - third :])
    slope = (last - first) / (count - third)
    return np.asarray(first + slope * (np.arange(count) - (third - 1) / 2))


def wander_above(blocks: Array, error: float) -> float:
    """Return how far (as a standard deviation) block medians wander above 0, beyond what noise explains.

    `error` is the noise over the root of a block's length. 0 for fewer than six blocks.
    """
    if len(blocks) < 6:
        return 0.0
    middle, high = np.quantile(blocks, [0.5, 0.8])
    above = max(0.0, float(high), float(high - middle)) / 0.84
    return float(np.sqrt(max(0.0, above**2 - 4 * error**2)))
