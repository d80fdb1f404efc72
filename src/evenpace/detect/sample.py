"""One iteration of a job as the detectors take it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from evenpace.detect.growth import Edge, Stretch

Array = NDArray[np.float64]
SHORTEST, LONGEST = 1e-9, 1e9  # seconds: what is beyond is no measurement


@dataclass(frozen=True, slots=True)
class Sample:
    """One iteration of the job: an array each, one number a rank, in seconds.

    An `irregular` iteration (with operations that others lack) is ignored, and one that is not `sound`.
    `edges` are the transfer times of point-to-point pairs of global ranks, where known. What there was to do,
    where that is known, one number a rank: `tokens`, `squares` (the sum of squared sequence lengths), `load`
    (bytes routed to its experts). `counts` are the ranks' micro-batches, and `each` their own seconds for
    one, where the loop shares them.
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
    counts: Array | None = None
    each: Array | None = None

    @property
    def duration(self) -> float:
        """Return the job's: what more than half of the ranks took at least; a few say nothing."""
        middle = (len(self.durations) - 1) // 2
        return float(np.partition(self.durations, middle)[middle])

    @property
    def sound(self) -> bool:
        """Tell whether the job's duration and all times can be those of an iteration; no NaN is."""
        times = (self.durations, self.busy, self.waiting, self.transfer)
        possible = all(bool((np.abs(one) < LONGEST).all()) for one in times)
        return possible and self.duration >= SHORTEST and all(one < LONGEST for one in self.edges.values())

    @property
    def work(self) -> Array | None:
        """Return what there was to do, [ranks, kinds]; None where nothing is known."""
        kinds = [kind for kind in (self.tokens, self.squares, self.load) if kind is not None]
        return np.column_stack(kinds) if kinds else None

    def scaled(self, factor: float) -> Sample:
        """Return the sample with the durations of the usual work; `factor` is that of its own to it.

        The parts are left: attribution takes each rank's own work out of them.
        """
        return replace(self, durations=self.durations / factor)

    def evened(self) -> Sample:
        """Return the sample as it would be if all ranks had as many micro-batches: a plan taken away.

        Whoever is slow is so whatever its share, and what is known of the healthy pace stays good. A
        synchronous iteration gains what the rank that computes longest gains.
        """
        if self.counts is None or self.each is None or not (self.counts > 0).all():
            return self
        usual = self.counts.mean()
        most = np.maximum(self.durations, 0.0) / self.counts  # whatever a loop says, of whatever unit
        gained = (usual - self.counts) * np.minimum(self.each, most)
        if not gained.any():
            return self
        busy = np.maximum(self.busy + gained, 0.0)
        longer = float(busy.max() - self.busy.max())
        portion = usual / self.counts
        return replace(
            self,
            durations=np.maximum(self.durations + longer, SHORTEST),
            busy=busy,
            waiting=np.maximum(self.waiting + longer - gained, 0.0),
            tokens=None if self.tokens is None else self.tokens * portion,
            squares=None if self.squares is None else self.squares * portion,
            load=None if self.load is None else self.load * portion,
            counts=np.full_like(self.counts, usual),
        )


def durations_of(samples: Iterable[Sample]) -> Array:
    """Return the job's durations in seconds, [iterations]."""
    return np.array([sample.duration for sample in samples])


def stretch_of(samples: Iterable[Sample]) -> Stretch:
    """Return iterations in a row as what is compared; of pairs and work, what is known of all."""
    samples = list(samples)
    common = set.intersection(*(set(sample.edges) for sample in samples)) if samples else set()
    works = [work for sample in samples if (work := sample.work) is not None]
    known = len(works) == len(samples) and len({work.shape for work in works}) == 1
    return Stretch(
        durations_of(samples),
        np.stack([sample.busy for sample in samples]),
        np.stack([sample.waiting for sample in samples]),
        np.stack([sample.transfer for sample in samples]),
        {edge: np.array([sample.edges[edge] for sample in samples]) for edge in common},
        np.stack(works) if known else None,
    )
