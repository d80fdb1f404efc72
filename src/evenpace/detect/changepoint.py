"""The iteration at which a slowdown began or ended, found in a window around the decision.

A least-squares split on log durations where the level before is known; O(n) by cumulative sums. The decision
says about how long the new iterations are; longer ones count as that. In the bench of detection this is
nearer to the truth than the run lengths of Bayesian online change-point detection.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
SMALLEST_NOISE = 0.01
BEYOND = 1.2  # times the log ratio: longer iterations count as this long
LARGEST_LOG_RATIO = 1.0  # likewise, whatever the ratio: one checkpoint must not attract the split


class ChangePoint(NamedTuple):
    """Say where the series changed.

    `at` is the first element of the new state, 0 to the length of the window. `confidence` (0 to 1) is
    the weight of `at` and its two neighbours among all splits, each weighed by its Gaussian likelihood.
    """

    at: int
    confidence: float


def locate_onset(durations: Array, level: float, noise: float, ratio: float = np.e) -> ChangePoint:
    """Find where `durations` (seconds) leave the healthy `level` upwards; `noise` is relative.

    `ratio` is that of the new level to the old one, as far as it is known. Raises ValueError for an empty
    window.
    """
    noise = max(noise, SMALLEST_NOISE)
    most = min(LARGEST_LOG_RATIO, max(BEYOND * float(np.log(ratio)), 2 * noise))
    return _split(np.clip(np.log(durations / level), -most, most), noise)


def locate_relief(durations: Array, level: float, noise: float, ratio: float = np.e) -> ChangePoint:
    """Find where slow `durations` return to the healthy `level`: an onset read backwards."""
    backwards = locate_onset(durations[::-1], level, noise, ratio)
    return ChangePoint(len(durations) - backwards.at, backwards.confidence)


def _split(logs: Array, noise: float) -> ChangePoint:
    count = len(logs)
    if count == 0:
        raise ValueError("an empty window has no change point")
    after = np.arange(count, 0, -1)
    sum_after = np.cumsum(logs[::-1])[::-1]
    # How much the cost falls: mean 0 (healthy) before the split, the best non-negative one after it.
    gain = np.append(np.maximum(sum_after, 0) ** 2 / after, 0.0)
    weights = np.exp(np.maximum((gain - gain.max()) / (2 * noise**2), -700))
    index = count - int(gain[::-1].argmax())  # the latest of equals: as little as possible is called slow
    near = weights[max(0, index - 1) : index + 2].sum()
    return ChangePoint(index, float(near / weights.sum()))
