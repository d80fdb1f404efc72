"""The pace of one incarnation as its events tell it: iterations, what they lose, who takes how long."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from evenpace.watch.events import Iteration

KEPT = 256  # iterations
LATEST = 5  # of them say what the pace is now
UNREST = 1.25  # times that
LONGEST = 1e9  # seconds: what is said to take longer is damage
HEALTHY = 40  # of them, before an onset, say what it was


@dataclass(slots=True)
class Pace:
    """Remember the latest iterations of a job; all times in seconds."""

    _kept: deque[Iteration] = field(default_factory=lambda: deque(maxlen=KEPT))

    def add(self, iteration: Iteration) -> None:
        """Take the next one."""
        self._kept.append(iteration)

    def latest(self, since: int) -> float | None:
        """Return the time of an iteration now, over the last few from `since` on; None if unknown."""
        found = [duration(one) for one in self._last(since)]
        return float(np.median(found)) if found else None

    def unrest(self) -> bool:
        """Tell whether the newest iteration took much longer than the last few do."""
        usual = self.latest(0)
        return usual is not None and duration(self._kept[-1]) > UNREST * usual

    def count(self, since: int) -> int:
        """Return how many iterations there were from `since` on."""
        return sum(one.iteration >= since for one in self._kept)

    def before(self, onset: int) -> float | None:
        """Return the time of an iteration before an onset; None where none is known."""
        found = [duration(one) for one in self._kept if one.iteration < onset][-HEALTHY:]
        return float(np.median(found)) if found else None

    def lost(self, onset: int, healthy: float) -> float:
        """Return what the iterations from an onset on have lost."""
        return sum(max(0.0, duration(one) - healthy) for one in self._kept if one.iteration >= onset)

    def own(self, since: int) -> Mapping[int, float]:
        """Return each rank's own time in an iteration, over the last few from `since` on."""
        return _own(list(self._last(since)))

    def own_before(self, onset: int) -> Mapping[int, float]:
        """Return each rank's own time in an iteration before an onset."""
        return _own([one for one in self._kept if one.iteration < onset][-HEALTHY:])

    def _last(self, since: int) -> Iterator[Iteration]:
        return islice((one for one in reversed(self._kept) if one.iteration >= since), LATEST)


def sound(one: Iteration) -> bool:
    """Tell whether an iteration can be reckoned with: a time of each rank, finite and not negative."""
    lists = one.durations, one.busy
    told = bool(one.ranks) and all(len(times) == len(one.ranks) for times in lists)
    return told and all(0.0 <= time < LONGEST for times in lists for time in times)


def duration(one: Iteration) -> float:
    """Return the job's time of an iteration: the median over ranks."""
    return float(np.median(one.durations))


def _own(iterations: Sequence[Iteration]) -> Mapping[int, float]:
    same = [one for one in iterations if one.ranks == iterations[-1].ranks]
    if not same:
        return {}
    medians = np.median([one.busy for one in same], axis=0)
    return dict(zip(same[-1].ranks, medians.tolist(), strict=True))
