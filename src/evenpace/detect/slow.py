"""The detector of slow jobs: onset, who it is, relief; also who is slow from the start.

Feed it one iteration of the job at a time. It ties the frozen baseline (whether), the change point (since
when) and the attribution (who) together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evenpace.detect.attribution import SlowKind, SlowVerdict, attribute
from evenpace.detect.baseline import Baseline, Change, Settings
from evenpace.detect.changepoint import locate_onset, locate_relief
from evenpace.detect.growth import Edge, Stretch
from evenpace.detect.peers import Outlier, outliers

Array = NDArray[np.float64]
WINDOW = 15  # iterations before a decision in which its onset or relief is looked for
SLOW_WINDOW = 20  # the latest slow iterations, on which a verdict stands
START_WINDOW = 15  # iterations in which a rank must stand out to be slow from the start
CALM = 5  # iterations without standing out after which it no longer is


@dataclass(frozen=True, slots=True)
class Sample:
    """One iteration of the job: an array each, one number a rank, in seconds.

    An `irregular` iteration (with operations that others lack) is ignored. `edges` are the transfer times of
    point-to-point pairs of global ranks, where known. What there was to do, where that is known, one number a
    rank: `tokens`, `squares` (the sum of squared sequence lengths), `load` (bytes routed to its experts).
    """

    iteration: int
    durations: Array
    busy: Array
    waiting: Array
    transfer: Array
    irregular: bool = False
    edges: Mapping[Edge, float] = field(default_factory=dict)
    tokens: Array | None = None
    squares: Array | None = None
    load: Array | None = None

    @property
    def duration(self) -> float:
        """Return the job's: the median over ranks."""
        return float(np.median(self.durations))


@dataclass(frozen=True, slots=True)
class Onset:
    """The job became slow at `iteration` (or a rank always was: `from_start`), as known at `decided`.

    `certainty` (0 to 1) is that of the iteration; `ratio` the iteration time to the healthy level, or the
    rank's own time to its peers'.
    """

    iteration: int
    decided: int
    verdict: SlowVerdict
    ratio: float
    certainty: float = 1.0
    from_start: bool = False


@dataclass(frozen=True, slots=True)
class Update:
    """A slow job's verdict became clear, as known at `decided`."""

    iteration: int  # of onset
    decided: int
    verdict: SlowVerdict


@dataclass(frozen=True, slots=True)
class Relief:
    """The slowness was over from `iteration` on."""

    iteration: int
    decided: int
    from_start: bool = False


SlowEvent = Onset | Update | Relief


class SlowDetector:
    """Watch a job's iterations; columns of all arrays follow `ranks`.

    `roles` says which ranks do the same work (one string a rank), `nodes` maps a rank to its node.
    """

    def __init__(
        self,
        ranks: Sequence[int],
        roles: Sequence[str],
        nodes: Mapping[int, str],
        settings: Settings | None = None,
    ) -> None:
        self._ranks, self._roles, self._nodes = list(ranks), list(roles), dict(nodes)
        self._baseline = Baseline(settings)
        self._clear()

    def _clear(self) -> None:
        self._healthy: deque[Sample] = deque(maxlen=self._baseline.settings.settle)
        self._recent: deque[Sample] = deque(maxlen=WINDOW)
        self._slow: deque[Sample] = deque(maxlen=SLOW_WINDOW)
        self._onset: int | None = None
        self._verdict = SlowVerdict(SlowKind.UNCLEAR)
        self._blamed_from_start: tuple[int, ...] = ()
        self._calm = 0
        self._seen = 0

    def work_changed(self) -> None:
        """Learn anew: what was said so far is void, and no relief will be reported for it."""
        self._baseline.relearn()
        self._clear()

    def feed(self, sample: Sample) -> list[SlowEvent]:
        """Take the next iteration; return what it decided."""
        if sample.irregular or not sample.duration > 0:
            return []
        change, learned = self._baseline.feed(sample.duration)
        self._seen += 1
        if self._seen <= self._baseline.settings.warm_up:
            return []
        self._recent.append(sample)
        if change is Change.FASTER:
            return self._faster(sample)
        if learned:
            self._healthy.append(sample)
        if change is Change.ONSET:
            return [self._begin(sample)]
        if change is Change.RELIEF:
            return [self._end(sample)]
        return self._judge_again(sample) if self._onset is not None else self._compare_peers(sample)

    def _faster(self, sample: Sample) -> list[SlowEvent]:
        self._healthy.clear()
        blamed, self._blamed_from_start = self._blamed_from_start, ()
        return [Relief(self._recent[0].iteration, sample.iteration, from_start=True)] if blamed else []

    def _begin(self, sample: Sample) -> Onset:
        samples = list(self._recent)
        level = self._baseline.level
        change = locate_onset(_durations(samples), level, self._baseline.noise)
        self._slow = deque(samples[min(change.at, len(samples) - 1) :], maxlen=SLOW_WINDOW)
        self._onset = self._slow[0].iteration
        self._verdict = self._attribute()
        ratio = float(np.median(_durations(self._slow))) / level
        return Onset(self._onset, sample.iteration, self._verdict, ratio, change.confidence)

    def _end(self, sample: Sample) -> Relief:
        samples = list(self._recent)
        change = locate_relief(_durations(samples), self._baseline.level, self._baseline.noise)
        self._onset = None
        self._recent.clear()
        return Relief(samples[min(change.at, len(samples) - 1)].iteration, sample.iteration)

    def _attribute(self) -> SlowVerdict:
        return attribute(_stretch(self._healthy), _stretch(self._slow), self._ranks, self._nodes)

    def _judge_again(self, sample: Sample) -> list[SlowEvent]:
        """Look again while nobody is named: a slow start of evidence, or one that others' noise hid."""
        self._slow.append(sample)
        if self._onset is None or self._verdict.culprits or self._verdict.link:
            return []
        verdict = self._attribute()
        names = bool(verdict.culprits or verdict.link)
        becomes_clear = self._verdict.kind is SlowKind.UNCLEAR and verdict.kind is not SlowKind.UNCLEAR
        if not (names or becomes_clear):
            return []
        self._verdict = verdict
        return [Update(self._onset, sample.iteration, verdict)]

    def _compare_peers(self, sample: Sample) -> list[SlowEvent]:
        samples = list(self._recent)[-START_WINDOW:]
        if len(samples) < START_WINDOW:
            return []
        stretch = _stretch(samples)
        found = outliers(stretch.busy, stretch.waiting, stretch.durations, self._roles)
        culprits = tuple(self._ranks[one.position] for one in found)
        if self._blamed_from_start:
            return self._watch_blamed(sample, culprits)
        names = {self._nodes.get(rank) for rank in culprits}
        if not culprits or (len(culprits) > 1 and (len(names) > 1 or None in names)):
            return []
        self._blamed_from_start = culprits
        return [_from_start(sample, samples[0].iteration, culprits, found)]

    def _watch_blamed(self, sample: Sample, culprits: tuple[int, ...]) -> list[SlowEvent]:
        self._calm = 0 if set(culprits) & set(self._blamed_from_start) else self._calm + 1
        if self._calm < CALM:
            return []
        self._blamed_from_start, self._calm = (), 0
        return [Relief(sample.iteration, sample.iteration, from_start=True)]


def _from_start(sample: Sample, first: int, culprits: tuple[int, ...], found: Sequence[Outlier]) -> Onset:
    surplus = max(one.surplus for one in found)
    ratio = max(one.ratio for one in found)
    verdict = SlowVerdict(
        SlowKind.NON_COMMUNICATION,
        culprits,
        share=min(1.0, surplus / sample.duration),
        excess={rank: one.surplus for rank, one in zip(culprits, found, strict=True)},
        confidence=min(0.9, ratio - 0.6),
        evidence={"own time to the median of peers": ratio, "seconds an iteration lost": surplus},
    )
    return Onset(first, sample.iteration, verdict, ratio, from_start=True)


def _durations(samples: Iterable[Sample]) -> Array:
    return np.array([sample.duration for sample in samples])


def _stretch(samples: Iterable[Sample]) -> Stretch:
    samples = list(samples)
    common = set.intersection(*(set(sample.edges) for sample in samples)) if samples else set()
    return Stretch(
        _durations(samples),
        np.stack([sample.busy for sample in samples]),
        np.stack([sample.waiting for sample in samples]),
        np.stack([sample.transfer for sample in samples]),
        {edge: np.array([sample.edges[edge] for sample in samples]) for edge in common},
    )
