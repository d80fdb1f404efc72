"""What grew from a healthy stretch of iterations to a slow one, and how far that can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evenpace.detect.levelling import level

Array = NDArray[np.float64]
Edge = tuple[int, int]  # global ranks: source, destination


@dataclass(frozen=True, slots=True)
class Stretch:
    """Iterations in a row, in seconds: `durations` [iterations], the parts [iterations, ranks].

    `edges` maps a pair of global ranks to its point-to-point transfer times [iterations], where known; `work`
    [iterations, ranks, kinds] is what each rank had to do, in any units, where known.
    """

    durations: Array
    busy: Array
    waiting: Array
    transfer: Array
    edges: Mapping[Edge, Array] = field(default_factory=dict)
    work: Array | None = None


@dataclass(frozen=True, slots=True)
class Growth:
    """Medians of the slow stretch minus those of the healthy one; seconds an iteration, an array: by rank.

    Where most ranks' own time fell, `busy` is what a rank's grew by beside theirs.
    """

    usual: float  # the healthy iteration itself
    job: float
    job_relative: float  # to the healthy iteration
    certainty: float  # of `job`, in standard errors
    busy: Array
    busy_error: Array
    busy_relative: Array  # to each rank's healthy busy time
    waiting: Array
    transfer: Array
    by_iteration: Array  # growth of busy time, [slow iterations, ranks]
    transfer_steady: float  # share of slow iterations whose transfer is above nearly all healthy ones

    @property
    def iterations(self) -> int:
        """Return how many slow iterations it stands on."""
        return len(self.by_iteration)

    def evidence(self) -> dict[str, float]:
        """Return its numbers, by what they are called in a finding."""
        return {
            "seconds of a healthy iteration": self.usual,
            "seconds an iteration lost": self.job,
            "largest growth of own time": float(self.busy.max()),
            "median growth of own time": float(np.median(self.busy)),
            "median growth of waiting": float(np.median(self.waiting)),
            "median growth of transfer": float(np.median(self.transfer)),
        }


def measure_growth(healthy: Stretch, slow: Stretch) -> Growth:
    """Compare two stretches; own times are those at each rank's usual work, where work is known."""
    own, now = healthy.busy, slow.busy
    if healthy.work is not None and slow.work is not None:
        own, now = level(own, now, healthy.work, slow.work)
    job, job_error = difference(healthy.durations, slow.durations)
    busy, busy_error = difference(own, now)
    eased = min(0.0, float(np.median(busy)))  # who waits leaves the processor, or the memory, to the others
    busy, usual = busy - eased, np.median(own, axis=0)
    moved = np.median(healthy.transfer, axis=1)
    iteration = float(np.median(healthy.durations))
    return Growth(
        usual=iteration,
        job=float(job),
        job_relative=float(job / iteration),
        certainty=float(job / max(float(job_error), 1e-12)),
        busy=busy,
        busy_error=busy_error,
        busy_relative=busy / np.maximum(usual, 1e-9),
        waiting=difference(healthy.waiting, slow.waiting)[0],
        transfer=difference(healthy.transfer, slow.transfer)[0],
        by_iteration=now - usual - eased,
        transfer_steady=float(np.mean(np.median(slow.transfer, axis=1) > np.quantile(moved, 0.95))),
    )


def difference(healthy: Array, slow: Array) -> tuple[Array, Array]:
    """Return the difference of medians and its standard error, from the healthy spread (MAD)."""
    usual = np.median(healthy, axis=0)
    spread = 1.4826 * np.median(np.abs(healthy - usual), axis=0) * (1 + 2 / len(healthy))  # few say little
    error = 1.2533 * spread * np.sqrt(1 / len(healthy) + 1 / len(slow))
    return np.median(slow, axis=0) - usual, error


@dataclass(frozen=True, slots=True)
class EdgeGrowth:
    """How much a pair's transfer grew (seconds an iteration), and in which share of iterations it shows."""

    edge: Edge
    growth: float
    errors: float  # growth in standard errors
    steady: float


def edge_growths(healthy: Stretch, slow: Stretch) -> list[EdgeGrowth]:
    """Return the pairs' growths, largest first."""
    found = []
    for edge in healthy.edges.keys() & slow.edges.keys():
        grown, error = difference(healthy.edges[edge], slow.edges[edge])
        half = np.median(healthy.edges[edge]) + grown / 2
        steady = float(np.mean(slow.edges[edge] > half))
        found.append(EdgeGrowth(edge, float(grown), float(grown / max(float(error), 1e-9)), steady))
    return sorted(found, key=lambda one: (-one.growth, one.edge))
