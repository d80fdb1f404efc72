"""The sequential test behind the baseline: a clipped cumulative sum, its limits, and what must stand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
HEIGHT = 7.5  # times the noise that the sum must reach
FEWEST = 5.0  # times the reference that it must reach at least: no few spikes make it
WANDER, MOST_WANDER = 3.0, math.log(1.12)  # times the slow wander that a rise must be; not more for it
CAP, CAP_NOISE = 1.5, 1.8  # times the reference, or times the noise: what one iteration can add
SHARE, SHARE_OF_FEW = 0.35, 0.25  # of the stretch may lie below the reference; of a short one
FEW = 12  # iterations: a stretch of fewer is short
CLEAR, CLEAR_NOISE = math.log(1.1), 2.5  # of a jump: log ratio and times the noise
AGREE, AGREE_NOISE = 0.3, 6.0  # of a jump's last two: their difference, of its size or times the noise


@dataclass(frozen=True, slots=True)
class Limits:
    """What a rise must be, in logs of ratios: `least` in size; `reference`, `cap` and `height` of the sum."""

    noise: float
    least: float
    reference: float
    cap: float
    height: float


def limits(noise: float, count: int, floor: float, wander: float = 0.0) -> Limits:
    """Return the limits for a relative noise that was learned, with its level, from `count` iterations.

    `floor` is the smallest ratio that matters; `wander` the standard deviation of slow wandering.
    """
    smallest = max(math.log(floor), min(WANDER * wander, MOST_WANDER))
    reference = max(smallest / 2, 0.5 * noise + 1.6 * noise / math.sqrt(count))
    least = max(smallest, 1.15 * reference)
    cap = max(CAP * reference, CAP_NOISE * noise)
    return Limits(noise, least, reference, cap, max(HEIGHT * noise, FEWEST * reference))


@dataclass(slots=True)
class Cusum:
    """A one-sided cumulative sum that never falls below 0; `length` counts iterations since it was there."""

    total: float = 0.0
    length: int = 0

    def feed(self, excess: float, cap: float) -> None:
        """Add what the next value has in excess of the reference, clipped to `cap` (and twice that below)."""
        self.total = max(0.0, self.total + min(cap, max(-2 * cap, excess)))
        self.length = self.length + 1 if self.total > 0 else 0


def is_jump(recent: Sequence[float], at: float, noise: float) -> bool:
    """Tell whether the last three or more are clearly above `at`, and the last two agree on how far.

    Spikes that happen to follow each other seldom agree. Where long ones recur, more in a row are needed.
    """
    clear = at + max(CLEAR, CLEAR_NOISE * noise)
    row = 0
    for value in reversed(recent):
        if value < clear:
            break
        row += 1
    if row < 3:
        return False
    before = sum(value >= clear for value in recent) - row
    if row < 2 + max(1, before):
        return False
    second, third = recent[-2] - at, recent[-1] - at
    return abs(third - second) <= max(AGREE * min(second, third), AGREE_NOISE * noise)


def stands(rise: Array, now: Limits) -> bool:
    """Tell whether most of a stretch is above the reference: long ones that recur among others are not."""
    share = SHARE if len(rise) >= FEW else SHARE_OF_FEW
    return float(np.sort(rise)[int(share * (len(rise) - 1))]) > now.reference
