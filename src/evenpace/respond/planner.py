"""When to do something about a slow job: each time the loss so far that it would have saved exceeds its cost.

Ski rental with several slopes (Lotker, Patt-Shamir and Rawitz, arXiv 0802.2832): being slow is rent, a
strategy is a price paid once for a lower rent. Greyhound (USENIX ATC'25) climbs the strategies one by
one by the loss alone; here only the part of the loss that a strategy can save counts, so one that cannot help
is skipped.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

WORTH = 0.1  # of the loss an iteration: a strategy that saves less is none


@dataclass(frozen=True, slots=True)
class Level:
    """A strategy as the planner sees it, in seconds: its price, and what an iteration takes under it."""

    name: str
    cost: float
    iteration: float


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the job stands, in seconds: iteration when healthy and now; the loss since the last change."""

    healthy: float
    now: float
    lost: float

    @property
    def rate(self) -> float:
        """Return the loss of an iteration."""
        return max(0.0, self.now - self.healthy)

    def saved(self, level: Level) -> float:
        """Return how much of the loss so far the level would have saved; negative where it is worse."""
        return self.lost * (self.now - level.iteration) / self.rate if self.rate else 0.0

    def helps(self, level: Level) -> bool:
        """Tell whether a level saves enough of an iteration to be thought of."""
        return self.now - level.iteration >= WORTH * self.rate > 0


def choose(standing: Standing, levels: Iterable[Level]) -> Level | None:
    """Return the level to go to now; None where nothing has earned its price yet.

    Of several, the one whose price and rent together would have been the least from the start of this loss.
    """
    due = [one for one in levels if standing.helps(one) and standing.saved(one) >= one.cost]
    return min(due, key=lambda one: (one.cost - standing.saved(one), one.cost, one.name), default=None)


def rate(level: Level, healthy: float) -> float:
    """Return what goes on being lost under a level, in seconds a second."""
    return max(0.0, level.iteration - healthy) / level.iteration if level.iteration > 0 else 0.0
