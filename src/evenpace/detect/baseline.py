"""The frozen healthy baseline of a job's iteration time, and the decision that it is slow or well again.

A baseline that follows the job lets a slowdown of many small steps creep in; a frozen one adds them up
(Greyhound, USENIX ATC'25, names that miss of adaptive change-point detectors). What counts as slow comes from
the job's own noise. A jump is decided by three iterations in a row, a small rise by a clipped cumulative sum
(Page, 1954) to which a single long iteration (checkpoint, evaluation) adds no more than a slightly slow one.
Either must hold over the stretch that it rests on.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenpace.detect.cusum import Cusum, Spikes, is_jump, limits, stands
from evenpace.detect.robust import noise_of, wander_above

Array = NDArray[np.float64]
SMALLEST_NOISE = 0.01  # of the level: keeps a perfectly regular start from making every jitter significant
STRETCH = 20  # latest iterations on which a decision is verified
BLOCK, BLOCKS = 5, 40  # healthy iterations by whose medians slow wandering is followed, and how many of those
TRUST = 150  # healthy iterations after which the smallest slowdown that matters is believed
AT_FIRST = 1.1  # and the smallest that is believed before
WELL = 0.75  # of the smallest rise that counts: what is left of a slowdown when it is over


class Change(StrEnum):
    """What one more iteration can decide."""

    ONSET = "onset"
    SHIFT = "shift"  # still slow, but at another level
    RELIEF = "relief"
    FASTER = "faster"  # a lasting speed-up: the old level no longer says what is healthy


class Step(NamedTuple):
    """Answer to one iteration: what it decided, and whether it went into the baseline."""

    change: Change | None
    learned: bool


@dataclass(frozen=True, slots=True)
class Settings:
    """Set how the baseline learns (counts of iterations) and what matters (ratios to its level)."""

    warm_up: int = 3  # first iterations left out: allocation, compilation
    learn: int = 10  # iterations before the first decision
    settle: int = 40  # iterations after which the baseline is frozen
    floor: float = 1.05  # no slowdown below this ratio is reported
    faster: float = 1.1  # times faster, for
    faster_after: int = 20  # consecutive iterations


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

    def relearn(self, warm_up: bool = True) -> None:
        """Forget everything: the work changed, so its pace is to be learned again."""
        self._skip = self.settings.warm_up if warm_up else 0
        self._samples: list[float] = []
        self._recent: deque[float] = deque(maxlen=STRETCH)  # logs of ratios to the level
        self._since: deque[float] = deque(maxlen=STRETCH)  # likewise, the first at the present slow level
        self._up, self._down = Cusum(), Cusum()
        self._spikes = Spikes()
        self._block: list[float] = []
        self._blocks: deque[float] = deque(maxlen=BLOCKS)
        self._healthy = self._limits = limits(SMALLEST_NOISE, 1, AT_FIRST)
        self._well = 0  # healthy iterations since the level was known
        self._faster = 0
        self._at = 0.0  # log of the ratio at which the job goes: 0 while it is well
        self.level = 0.0  # seconds; 0 until `ready`
        self.noise = 0.0  # relative
        self._jitter = 0.0  # likewise, of neighbours
        self.slow = False

    def take_up(self) -> None:
        """Take up what was learned, after another kind of work: whether the job is slow is open again."""
        self._skip = min(1, self.settings.warm_up)
        self._at, self.slow = 0.0, False
        self._settle()

    @property
    def ready(self) -> bool:
        """Tell whether enough was learned to decide."""
        return self.level > 0

    @property
    def threshold(self) -> float:
        """Return the ratio to the level from which on the job counts as slow."""
        return math.exp(self._healthy.least)

    @property
    def ratio(self) -> float:
        """Return the ratio to the level at which the job goes; 1 while it is well."""
        return math.exp(self._at)

    def feed(self, duration: float) -> Step:
        """Take the next iteration's duration in seconds (positive)."""
        if self._skip:
            self._skip -= 1
            return Step(None, learned=False)
        change = self._decide(duration) if self.ready else None
        return Step(change, learned=self._learn(duration))

    def _learn(self, duration: float) -> bool:
        full = len(self._samples) >= self.settings.settle
        if full or self.slow or (self.ready and duration > self.level * (self.threshold + 2 * self.noise)):
            return False
        self._samples.append(duration)
        if len(self._samples) >= self.settings.learn:
            values = np.array(self._samples)
            self.level, self.noise = level_and_noise(values)
            self._jitter = noise_of(np.log(values))
            self._set_limits()
        return True

    def _set_limits(self) -> None:
        """Set what counts as slow, from the noise, the wander and how long the job was seen to be well."""
        doubt = max(0.0, 1 - self._well / TRUST)
        floor = self.settings.floor + doubt * max(0.0, AT_FIRST - self.settings.floor)
        wander = wander_above(np.array(self._blocks), self._jitter / math.sqrt(BLOCK))
        self._healthy = self._limits = limits(self.noise, len(self._samples), floor, wander)

    def _watch_wander(self, value: float) -> None:
        self._well += 1
        self._spikes.feed(value, self._healthy.noise)
        self._block.append(value)
        if len(self._block) == BLOCK:
            self._blocks.append(float(np.median(self._block)))
            self._block.clear()
            self._set_limits()

    def _decide(self, duration: float) -> Change | None:
        value = math.log(duration / self.level)
        self._recent.append(value)
        if self._got_faster(value):
            self.relearn(warm_up=False)
            return Change.FASTER
        if self.slow:
            self._follow(value)
        else:
            self._watch_wander(value)
        moved = self._risen(value)
        if moved is None and self.slow:
            moved = self._fallen(value)
        return None if moved is None else self._move(moved)

    def _got_faster(self, value: float) -> bool:
        self._faster = self._faster + 1 if value < -math.log(self.settings.faster) else 0
        return self._faster >= self.settings.faster_after

    def _follow(self, value: float) -> None:
        """Learn the level and the noise of the slow job from its first iterations."""
        if len(self._since) == STRETCH:
            return
        self._since.append(value)
        values = np.array(self._since)
        self._at = max(self._at if len(values) < 3 else float(np.median(values)), self._healthy.least)
        spread = 1.4826 * float(np.median(np.abs(values - self._at))) if len(values) >= 8 else 0.0
        self._limits = limits(max(self.noise, spread), max(5, len(values)), self.settings.floor)

    def _risen(self, value: float) -> float | None:
        """Return the log ratio to which the job rose, if it did."""
        now = self._limits
        self._up.feed(value - self._at - now.reference, now.cap)
        if is_jump(self._recent, self._at, now.noise, None if self.slow else self._spikes):
            return float(np.median(list(self._recent)[-3:]))
        if self._up.total <= now.height:
            return None
        stretch = self._stretch(self._up)
        rise = float(np.median(stretch)) - self._at
        return rise + self._at if rise >= now.least and stands(stretch - self._at, now) else None

    def _fallen(self, value: float) -> float | None:
        """Return the log ratio to which a slow job fell, if it did."""
        now = self._limits
        reference = min(now.reference, self._at / 2)
        self._down.feed(self._at - value - reference, now.cap)
        if self._down.total <= now.height * reference / now.reference:
            return None
        stretch = self._stretch(self._down)
        fallen, latest = float(np.median(stretch)), float(np.median(stretch[-3:]))
        if fallen <= WELL * self._healthy.least:
            return fallen
        eased = self._at - fallen >= now.least and min(fallen, latest) >= self._healthy.least
        return fallen if eased else None

    def _settle(self) -> None:
        """Look at what comes from now on only."""
        self._limits = self._healthy
        self._since.clear()
        self._recent.clear()
        self._block.clear()
        self._spikes.last.clear()
        self._up, self._down, self._faster = Cusum(), Cusum(), 0

    def _stretch(self, cusum: Cusum) -> Array:
        return np.array(list(self._recent)[-max(3, cusum.length) :])

    def _move(self, to: float) -> Change:
        """Take up another level: slow, slower, less slow or well."""
        was_slow, self.slow = self.slow, to > WELL * self._healthy.least
        self._at = to if self.slow else 0.0
        self._settle()
        if not self.slow:
            return Change.RELIEF
        return Change.SHIFT if was_slow else Change.ONSET
