"""The kinds of shape that a series of durations can have, and the numbers of each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

FLOOR = 1.05  # no slowdown below this ratio is a shape


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
    exclusive). `indices` are the long iterations or the resets, `period` their distance in points, `share`
    what they cost of all time. `rate` is the relative growth per point.
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
