"""The sequential test behind the baseline: a clipped cumulative sum, its limits, and what must stand."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

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
CHANCE = 1e-5  # of three long ones in a row, below which they need not agree
REMEMBERED = 400  # healthy iterations


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


def clear(noise: float) -> float:
    """Return the log ratio from which on a single iteration is clearly longer."""
    return max(CLEAR, CLEAR_NOISE * noise)


@dataclass(slots=True)
class Spikes:
    """Remember the iterations of a job that is well (log ratios), to know how often one is long by chance.

    Long ones at the end may be the begin of a slowness: they count when it has turned out that they are not.
    """

    values: deque[float] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    last: list[float] = field(default_factory=list)

    def feed(self, value: float, noise: float) -> None:
        """Take an iteration."""
        self.last.append(value)
        if value < clear(noise) or len(self.last) == REMEMBERED:
            self.values.extend(self.last)
            self.last.clear()

    def rare(self, size: float) -> bool:
        """Tell whether those of half a size or more are too rare for three in a row to come by chance."""
        long = sum(value >= size / 2 for value in self.values)
        return ((long + 1) / (len(self.values) + 1)) ** 3 < CHANCE


def is_jump(recent: Sequence[float], at: float, noise: float, spikes: Spikes | None = None) -> bool:
    """Tell whether the last three or more are clearly above `at`, and the last two agree on how far.

    Spikes that happen to follow each other seldom agree; where they are rare, none follow each other. Where
    long ones recur that have half of the size, more in a row are needed.
    """
    low = at + clear(noise)
    row = next((place for place, value in enumerate(reversed(recent)) if value < low), len(recent))
    if row < 3:
        return False
    size = min(recent[place] for place in (-3, -2, -1)) - at
    before = sum(value >= at + max(clear(noise), size / 2) for value in recent) - row
    if row < 2 + max(1, before):
        return False
    second, third = recent[-2] - at, recent[-1] - at
    agree = abs(third - second) <= max(AGREE * min(second, third), AGREE_NOISE * noise)
    return agree or (spikes is not None and spikes.rare(size))


def stands(rise: Array, now: Limits) -> bool:
    """Tell whether most of a stretch is above the reference: long ones that recur among others are not."""
    share = SHARE if len(rise) >= FEW else SHARE_OF_FEW
    return float(np.sort(rise)[int(share * (len(rise) - 1))]) > now.reference
