"""The frozen healthy baseline of a job's iteration time, and the decision that it is slow or well again.

A baseline that follows the job lets a slowdown of many small steps creep in; a frozen one adds them up
(Greyhound, USENIX ATC'25, names that miss of adaptive change-point detectors). The decision asks for k of
the last n iterations, which single long ones (checkpoint, evaluation) cannot reach, and for a raised trimmed
mean, which noise cannot reach.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
SMALLEST_NOISE = 0.01  # of the level: keeps a perfectly regular start from making every jitter significant


class Change(StrEnum):
    """What one more iteration can decide."""

    ONSET = "onset"
    RELIEF = "relief"
    FASTER = "faster"  # a lasting speed-up: the old level no longer says what is healthy


class Step(NamedTuple):
    """Answer to one iteration: what it decided, and whether it went into the baseline."""

    change: Change | None
    learned: bool


@dataclass(frozen=True, slots=True)
class Settings:
    """Set how the baseline learns (counts of iterations) and decides (ratios to its level)."""

    warm_up: int = 3  # first iterations left out: allocation, compilation
    learn: int = 10  # iterations before the first decision
    settle: int = 40  # iterations after which the baseline is frozen
    k: int = 4
    n: int = 5
    floor: float = 1.1  # no slowdown below this ratio is reported
    noise_factor: float = 2.0
    faster_after: int = 20  # consecutive iterations below 1 / floor


def level_and_noise(durations: Array) -> tuple[float, float]:
    """Estimate location (seconds) and relative noise, both robust to a quarter of long iterations.

    Hodges-Lehmann on log durations for the level, Qn (Rousseeuw and Croux, 1993) for the noise; Qn is left
    without its small-sample correction, so that a short start overstates the noise rather than understates
    it.
    """
    logs = np.log(durations)
    first, second = np.triu_indices(len(logs), 1)
    level = np.median(np.concatenate([logs, (logs[first] + logs[second]) / 2]))
    half = len(logs) // 2 + 1
    differences = np.sort(np.abs(logs[first] - logs[second]))
    noise = 2.2219 * differences[half * (half - 1) // 2 - 1]
    return float(np.exp(level)), max(SMALLEST_NOISE, float(noise))


class Baseline:
    """Decide onset and relief of a slowdown over a job's iteration times (seconds), fed one by one."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.relearn()

    def relearn(self) -> None:
        """Forget everything: the work changed, so its pace is to be learned again."""
        self._skip = self.settings.warm_up
        self._restart()

    def _restart(self) -> None:
        self._samples: list[float] = []
        self._recent: deque[float] = deque(maxlen=self.settings.n)
        self._faster = 0
        self.level = 0.0  # seconds; 0 until `ready`
        self.noise = 0.0  # relative
        self.slow = False

    @property
    def ready(self) -> bool:
        """Tell whether enough was learned to decide."""
        return self.level > 0

    @property
    def threshold(self) -> float:
        """Return the ratio to the level above which the job counts as slow."""
        return max(self.settings.floor, 1 + self.settings.noise_factor * self.noise)

    @property
    def relief_threshold(self) -> float:
        """Return the ratio below which a slow job counts as well again: half-way back to the level."""
        return (1 + self.threshold) / 2

    def feed(self, duration: float) -> Step:
        """Take the next iteration's duration in seconds (positive)."""
        if self._skip:
            self._skip -= 1
            return Step(None, learned=False)
        change = self._decide(duration) if self.ready else None
        return Step(change, learned=self._learn(duration))

    def _learn(self, duration: float) -> bool:
        full = len(self._samples) >= self.settings.settle
        if full or self.slow or (self.ready and duration > self.level * self.threshold):
            return False
        self._samples.append(duration)
        if len(self._samples) >= self.settings.learn:
            self.level, self.noise = level_and_noise(np.array(self._samples))
        return True

    def _decide(self, duration: float) -> Change | None:
        self._recent.append(float(np.log(duration / self.level)))
        if self._got_faster(duration):
            self._restart()
            return Change.FASTER
        if len(self._recent) < self.settings.n or not (self._is_well() if self.slow else self._is_slow()):
            return None
        self.slow = not self.slow
        self._recent.clear()
        return Change.ONSET if self.slow else Change.RELIEF

    def _got_faster(self, duration: float) -> bool:
        self._faster = self._faster + 1 if duration < self.level / self.settings.floor else 0
        return self._faster >= self.settings.faster_after

    def _trimmed_mean(self) -> float:
        cap = np.log(self.threshold) + self.noise
        return float(np.sort(np.minimum(self._recent, cap))[:-1].mean())

    def _is_slow(self) -> bool:
        above = np.array(self._recent) > np.log(self.relief_threshold)
        return int(above.sum()) >= self.settings.k and self._trimmed_mean() > np.log(self.threshold)

    def _is_well(self) -> bool:
        below = np.array(self._recent) < np.log(self.relief_threshold)
        return int(below.sum()) >= self.settings.k
