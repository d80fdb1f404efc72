"""Who slows a job down: a healthy stretch of iterations against a slow one.

In a synchronous job all ranks show the same iteration time; who is slow shows in its parts. The slow one's
own (busy) time grows, the others' waiting grows, and it waits least itself. Where the transfer grows after
all entered in time, the network is slow; where everybody's own time grows, nobody is to blame. A process
that is stopped or starved makes everybody's transfer grow as well, so what transfer they share does not
speak against it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Edge = tuple[int, int]  # global ranks: source, destination

MOST = 0.5  # of the job's excess: what a culprit must explain
NOTABLE = 0.25  # of the job's excess: below this, growth is a side effect
SLIGHT = 0.1
RIVAL = 0.5  # of the largest growth: who grew as much is slow together with the largest
DOMINANT = 0.6  # share of slow iterations in which the culprit's growth is the largest
SIGNIFICANT = 5.0  # standard errors, for a rank: many ranks and windows are looked at
CERTAIN = 6.0  # standard errors of the job's excess, where nobody's waiting confirms it
ENOUGH = 8  # slow iterations, likewise: a burst of long ones is not yet a slow job


class SlowKind(StrEnum):
    """What kind of slowness it is."""

    NON_COMMUNICATION = "non-communication-slow"
    COMMUNICATION = "communication-slow"
    THROUGHPUT = "slow-throughput"  # all together: nobody to blame
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Stretch:
    """Iterations in a row, in seconds: `durations` [iterations], the parts [iterations, ranks].

    `edges` maps a pair of global ranks to its point-to-point transfer times [iterations], where known.
    """

    durations: Array
    busy: Array
    waiting: Array
    transfer: Array
    edges: Mapping[Edge, Array] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SlowVerdict:
    """Say who slows the job down; `culprits` (global ranks) and `link` are empty where evidence names nobody.

    `share` is the part of the job's excess that the culprits explain, `excess` each rank's growth of own
    time in seconds per iteration, `confidence` 0 to 1. Raise nothing for an unclear verdict: it is judged
    again.
    """

    kind: SlowKind
    culprits: tuple[int, ...] = ()
    link: Edge | None = None
    share: float = 0.0
    excess: Mapping[int, float] = field(default_factory=dict)
    confidence: float = 0.0
    evidence: Mapping[str, float] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Growth:
    """Medians of the slow stretch minus those of the healthy one, and how far they can be trusted."""

    job: float
    job_relative: float  # to the healthy iteration
    certainty: float  # of `job`, in standard errors
    busy: Array
    busy_error: Array
    busy_relative: Array  # to each rank's healthy busy time
    waiting: Array
    transfer: Array
    by_iteration: Array  # growth of busy time, [slow iterations, ranks]

    def slowest(self) -> NDArray[np.bool_]:
        """Mark the rank that grew most, and its rivals: by as much, or by as much of their own work.

        Ranks of a pipeline do unequal work; when all are slow together, those with more of it grow by more.
        """
        by_seconds = self.busy >= RIVAL * self.busy.max()
        alike = self.busy_relative >= RIVAL * self.busy_relative[self.busy.argmax()]
        real = self.busy >= np.maximum(SLIGHT * self.job, SIGNIFICANT * self.busy_error)
        return np.asarray(by_seconds | (alike & real))

    def evidence(self) -> dict[str, float]:
        return {
            "seconds an iteration lost": self.job,
            "largest growth of own time": float(self.busy.max()),
            "median growth of own time": float(np.median(self.busy)),
            "median growth of waiting": float(np.median(self.waiting)),
            "median growth of transfer": float(np.median(self.transfer)),
        }


def attribute(healthy: Stretch, slow: Stretch, ranks: Sequence[int], nodes: Mapping[int, str]) -> SlowVerdict:
    """Name the rank, or the ranks of one node, that make the slow stretch slower than the healthy one.

    `ranks` are the global ranks of the columns, `nodes` maps them to their nodes.
    """
    growth = _growth(healthy, slow)
    excess = dict(zip(ranks, growth.busy.tolist(), strict=True))
    if growth.job <= 0:
        return SlowVerdict(SlowKind.UNCLEAR, excess=excess, evidence=growth.evidence())
    return (
        _non_communication(growth, excess, nodes)
        or _together(growth, excess, healthy, slow)
        or SlowVerdict(
            SlowKind.UNCLEAR,
            excess=excess,
            evidence=growth.evidence(),
            missing=("more slow iterations, in which one rank's own time stands out",),
        )
    )


def _growth(healthy: Stretch, slow: Stretch) -> _Growth:
    job, job_error = _difference(healthy.durations, slow.durations)
    busy, busy_error = _difference(healthy.busy, slow.busy)
    return _Growth(
        job=float(job),
        job_relative=float(job / np.median(healthy.durations)),
        certainty=float(job / max(float(job_error), 1e-12)),
        busy=busy,
        busy_error=busy_error,
        busy_relative=busy / np.maximum(np.median(healthy.busy, axis=0), 1e-9),
        waiting=_difference(healthy.waiting, slow.waiting)[0],
        transfer=_difference(healthy.transfer, slow.transfer)[0],
        by_iteration=slow.busy - np.median(healthy.busy, axis=0),
    )


def _difference(healthy: Array, slow: Array) -> tuple[Array, Array]:
    """Return the difference of medians and its standard error, from the healthy spread (MAD)."""
    level = np.median(healthy, axis=0)
    spread = 1.4826 * np.median(np.abs(healthy - level), axis=0) * (1 + 2 / len(healthy))  # few say little
    error = 1.2533 * spread * np.sqrt(1 / len(healthy) + 1 / len(slow))
    return np.median(slow, axis=0) - level, error


def _non_communication(
    growth: _Growth, excess: Mapping[int, float], nodes: Mapping[int, str]
) -> SlowVerdict | None:
    ranks = list(excess)
    top = float(growth.busy.max())
    high = growth.slowest()
    culprits = tuple(rank for rank, is_high in zip(ranks, high, strict=True) if is_high)
    if high.all() or not _is_one(culprits, nodes) or not _explains(growth, top, high):
        return None
    dominance = float(high[growth.by_iteration.argmax(axis=1)].mean())
    if dominance < DOMINANT or not _is_waited_for(growth, top, high):
        return None
    share = min(1.0, top / growth.job)
    second = max(0.0, float(growth.busy[~high].max()))
    return SlowVerdict(
        SlowKind.NON_COMMUNICATION,
        culprits,
        share=share,
        excess=excess,
        confidence=0.5 * share + 0.3 * dominance + 0.2 * (1 - second / top),
        evidence=growth.evidence() | {"largest growth among the others": second, "dominance": dominance},
    )


def _is_one(culprits: tuple[int, ...], nodes: Mapping[int, str]) -> bool:
    """Tell whether it is one rank, or ranks of one node while there are others."""
    names = {nodes.get(rank) for rank in culprits}
    return len(culprits) == 1 or (len(names) == 1 and None not in names and len(set(nodes.values())) > 1)


def _explains(growth: _Growth, top: float, high: NDArray[np.bool_]) -> bool:
    """Tell whether the growth is real and most of what is lost, shared transfer aside."""
    shared = max(0.0, float(growth.transfer.min()))
    enough = max(NOTABLE * growth.job, MOST * (growth.job - shared))
    return top >= enough and top >= SIGNIFICANT * float(growth.busy_error[high].max())


def _is_waited_for(growth: _Growth, top: float, high: NDArray[np.bool_]) -> bool:
    """Tell whether the others wait longer than they did, and the culprits' waiting grew least."""
    others = growth.waiting[~high]
    least = float(others.min()) + SLIGHT * growth.job
    return float(growth.waiting[high].max()) <= least and float(np.median(others)) >= MOST * min(
        top, growth.job
    )


def _together(
    growth: _Growth, excess: Mapping[int, float], healthy: Stretch, slow: Stretch
) -> SlowVerdict | None:
    """Judge slowness without a slow rank: a link, the network, or everybody."""
    top = float(growth.busy.max())
    if growth.certainty < CERTAIN or len(slow.durations) < ENOUGH:
        return None
    if top < NOTABLE * growth.job:
        return _communication(growth, excess, healthy, slow)
    if np.quantile(growth.busy_relative, 0.1) < MOST * growth.job_relative:
        return None
    confidence = min(1.0, float(np.median(growth.busy + growth.transfer)) / growth.job)
    return SlowVerdict(SlowKind.THROUGHPUT, excess=excess, confidence=confidence, evidence=growth.evidence())


def _communication(
    growth: _Growth, excess: Mapping[int, float], healthy: Stretch, slow: Stretch
) -> SlowVerdict | None:
    starved = growth.busy[growth.busy >= SLIGHT * growth.job]
    hot = _hot_edges(healthy, slow, growth.job)
    share = min(1.0, float(np.median(growth.transfer)) / growth.job)
    if (share < MOST and not hot) or len(starved) == 1:
        return None
    pairs = {frozenset(edge) for edge in hot}
    hub = set.intersection(*map(set, pairs)) if len(pairs) >= 3 else set()
    link = min(hot) if len(pairs) == 1 else None
    missing = () if hub or link else ("a probe of the links: the recording does not show which is slow",)
    return SlowVerdict(
        SlowKind.COMMUNICATION,
        tuple(hub),
        link,
        share=share,
        excess=excess,
        confidence=0.9 if not missing else 0.6,
        evidence=growth.evidence(),
        missing=missing,
    )


def _hot_edges(healthy: Stretch, slow: Stretch, job: float) -> list[Edge]:
    """Return the edges whose transfer grew most, where that is much of what the job lost."""
    grown = {}
    for edge in healthy.edges.keys() & slow.edges.keys():
        difference, error = _difference(healthy.edges[edge], slow.edges[edge])
        if difference >= max(NOTABLE * job, SIGNIFICANT * float(error)):
            grown[edge] = float(difference)
    return [edge for edge, value in grown.items() if value >= RIVAL * max(grown.values())]
