"""Who slows a job down: a healthy stretch of iterations against a slow one.

In a synchronous job all ranks show the same iteration time; who is slow shows in its parts. The slow one's
own (busy) time grows, the others' waiting grows, and it waits least itself. Where the transfer grows after
all entered in time, the network is slow; where everybody's own time grows, nobody is to blame. A process
that is stopped or starved makes everybody's transfer grow as well, so what transfer they share does not
speak against it. Three slow iterations are enough where they all say the same and the others' waiting, or one
pair's transfer, confirms it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from evenpace.detect.growth import Edge, EdgeGrowth, Growth, Stretch, edge_growths, measure_growth

MOST = 0.5  # of the job's excess: what a culprit must explain
NOTABLE = 0.25  # of the job's excess: below this, growth is a side effect
NOTABLE_OF_SEVERAL = 0.15  # likewise of several at once: what one holds up, the other holds up again
SLIGHT = 0.1
RIVAL = 0.5  # of the largest growth: who grew as much is slow together with the largest
DOMINANT = 0.6  # share of slow iterations in which the culprit's growth is the largest
SIGNIFICANT = 5.0  # standard errors, for a rank: many ranks and windows are looked at
HINT, CHANCE = 0.15, 3.0  # of the job's excess, standard errors: more than chance, less than a proof
CERTAIN = 6.0  # standard errors of the job's excess, where nobody's waiting confirms it
ENOUGH = 8  # slow iterations, likewise: a burst of long ones is not yet a slow job
FEW = 5  # slow iterations: of fewer, all must say the same
NEARLY_ALL = 0.75  # slow iterations: of three, all
STEADY = 0.8  # share of slow iterations in which a link's or the network's slowness shows
PLAIN = 1.15  # times slower, where fewer than ENOUGH iterations show that a link or the network is slow


class SlowKind(StrEnum):
    """What kind of slowness it is."""

    NON_COMMUNICATION = "non-communication-slow"
    COMMUNICATION = "communication-slow"
    THROUGHPUT = "slow-throughput"  # all together: nobody to blame
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class SlowVerdict:
    """Say who slows the job down; `culprits` (global ranks) and `link` are empty where evidence names nobody.

    Culprits with a `link` are two causes at once; the culprit of slow communication is the rank whose links
    are slow. `share` is the part of the job's excess that the culprits explain, `confidence` 0 to 1. Seconds
    per iteration: `excess`, each rank's growth of own time; `lost`, the job's; `transfer`, the median growth
    of transfers. Raise nothing for an unclear verdict: it is judged again.
    """

    kind: SlowKind
    culprits: tuple[int, ...] = ()
    link: Edge | None = None
    share: float = 0.0
    excess: Mapping[int, float] = field(default_factory=dict)
    confidence: float = 0.0
    lost: float = 0.0
    transfer: float = 0.0
    evidence: Mapping[str, float] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Case:
    """All that a verdict stands on."""

    growth: Growth
    edges: Sequence[EdgeGrowth]
    ranks: Sequence[int]
    nodes: Mapping[int, str]

    def verdict(self, kind: SlowKind, **evidence: float) -> SlowVerdict:
        """Return a verdict that names nobody, with the numbers."""
        return SlowVerdict(
            kind,
            excess=dict(zip(self.ranks, self.growth.busy.tolist(), strict=True)),
            lost=self.growth.job,
            transfer=float(np.median(self.growth.transfer)),
            evidence=self.growth.evidence() | evidence,
        )

    def hot(self) -> list[EdgeGrowth]:
        """Return the pairs whose transfer grew most, where that is much of what the job lost."""
        real = [
            one for one in self.edges if one.growth >= NOTABLE * self.growth.job and one.errors >= SIGNIFICANT
        ]
        return [one for one in real if one.growth >= RIVAL * real[0].growth]

    def slowest(self) -> NDArray[np.bool_]:
        """Mark the rank that grew most, and its rivals: by as much, or by as much of their own work.

        Ranks of a pipeline do unequal work; when all are slow together, those with more of it grow by more.
        """
        growth = self.growth
        by_seconds = growth.busy >= RIVAL * growth.busy.max()
        alike = growth.busy_relative >= RIVAL * growth.busy_relative[growth.busy.argmax()]
        real = growth.busy >= np.maximum(SLIGHT * growth.job, SIGNIFICANT * growth.busy_error)
        return np.asarray(by_seconds | (alike & real))


def attribute(healthy: Stretch, slow: Stretch, ranks: Sequence[int], nodes: Mapping[int, str]) -> SlowVerdict:
    """Name the ranks, or the link, that make the slow stretch slower than the healthy one; or both.

    `ranks` are the global ranks of the columns, `nodes` maps them to their nodes.
    """
    growth = measure_growth(healthy, slow)
    case = _Case(growth, edge_growths(healthy, slow), ranks, nodes)
    unclear = case.verdict(SlowKind.UNCLEAR)
    if growth.job <= 0:
        return unclear
    return (
        _link(case)
        or _non_communication(case)
        or _together(case)
        or replace(unclear, missing=("more slow iterations, in which one rank's own time stands out",))
    )


def _pair(edges: Sequence[EdgeGrowth]) -> EdgeGrowth | None:
    """Return the one pair among hot edges (its worse direction), if it shows in nearly all iterations."""
    pairs = {frozenset(one.edge) for one in edges}
    return edges[0] if len(pairs) == 1 and edges[0].steady >= STEADY else None


def _link(case: _Case) -> SlowVerdict | None:
    """Name a single pair that explains most of what is lost, while nobody's own time grew as much.

    A rank that is stopped or starved takes late what is sent to it: the own time of the two may hardly grow,
    and where both directions are slow, nobody's.
    """
    hot, growth = case.hot(), case.growth
    link = _pair(hot)
    certain = CERTAIN if growth.iterations >= ENOUGH else 2 * CERTAIN
    if link is None or link.growth < MOST * growth.job or link.errors < certain or not _is_large(growth):
        return None
    ends = max(float(growth.busy[list(case.ranks).index(rank)]) for rank in link.edge)
    most = RIVAL * link.growth if len(hot) == 1 else SLIGHT * growth.job
    if ends >= HINT * link.growth or float(growth.busy.max()) >= most:
        return None
    return replace(
        case.verdict(SlowKind.COMMUNICATION, **{"growth of the pair's transfer": link.growth}),
        link=link.edge,
        share=min(1.0, link.growth / growth.job),
        confidence=0.9,
    )


def _non_communication(case: _Case) -> SlowVerdict | None:
    growth = case.growth
    top = float(growth.busy.max())
    high = case.slowest()
    culprits = tuple(rank for rank, is_high in zip(case.ranks, high, strict=True) if is_high)
    if high.all() or not (_is_one(culprits, case.nodes) or _are_several(case, high)):
        return None
    elsewhere = _pair([one for one in case.hot() if not {*one.edge} & {*culprits}])
    notable = NOTABLE if len(culprits) == 1 else NOTABLE_OF_SEVERAL
    if not _explains(growth, top, high, elsewhere.growth if elsewhere else 0.0, notable):
        return None
    dominance = float(high[growth.by_iteration.argmax(axis=1)].mean())
    if dominance < (DOMINANT if growth.iterations >= FEW else 1) or not _is_waited_for(growth, top, high):
        return None
    share = min(1.0, top / growth.job)
    second = max(0.0, float(growth.busy[~high].max()))
    more = {"largest growth among the others": second, "dominance": dominance}
    return replace(
        case.verdict(SlowKind.NON_COMMUNICATION, **more),
        culprits=culprits,
        link=elsewhere.edge if elsewhere else None,
        share=share,
        confidence=0.5 * share + 0.3 * dominance + 0.2 * (1 - second / top),
    )


def _is_one(culprits: tuple[int, ...], nodes: Mapping[int, str]) -> bool:
    """Tell whether it is one rank, or ranks of one node while there are others."""
    names = {nodes.get(rank) for rank in culprits}
    return len(culprits) == 1 or (len(names) == 1 and None not in names and len(set(nodes.values())) > 1)


def _are_several(case: _Case, high: NDArray[np.bool_]) -> bool:
    """Tell whether ranks of different nodes are slow at once: each by its own growth, and nobody else at all.

    At most half of the job, of nodes that are known: beyond that it is not these ranks, but what they share.
    """
    growth, own = case.growth, case.growth.busy[high]
    names = {case.nodes.get(rank) for rank, is_high in zip(case.ranks, high, strict=True) if is_high}
    if len(names) < 2 or None in names or 2 * len(own) > len(case.ranks):
        return False
    real = own >= SIGNIFICANT * growth.busy_error[high]
    steady = (growth.by_iteration[:, high] > own / 2).mean(axis=0) >= STEADY
    return bool(real.all() and steady.all() and growth.busy[~high].max() < NOTABLE * own.min())


def _explains(growth: Growth, top: float, high: NDArray[np.bool_], elsewhere: float, notable: float) -> bool:
    """Tell whether the growth is real and most of what is lost, shared transfer and a slow link aside."""
    aside = max(0.0, float(growth.transfer.min()), min(elsewhere, MOST * growth.job))
    enough = max(notable * growth.job, MOST * (growth.job - aside))
    return top >= enough and top >= SIGNIFICANT * float(growth.busy_error[high].max())


def _is_waited_for(growth: Growth, top: float, high: NDArray[np.bool_]) -> bool:
    """Tell whether the others wait longer than they did, and the culprits' waiting grew least."""
    others = growth.waiting[~high]
    least = float(others.min()) + SLIGHT * growth.job
    return float(growth.waiting[high].max()) <= least and float(np.median(others)) >= MOST * min(
        top, growth.job
    )


def _together(case: _Case) -> SlowVerdict | None:
    """Judge slowness without a slow rank: links, the network, or everybody."""
    growth = case.growth
    top = float(growth.busy.max())
    if growth.certainty < CERTAIN:
        return None
    if top < NOTABLE * growth.job:
        return _communication(case)
    if growth.iterations < ENOUGH or np.quantile(growth.busy_relative, 0.1) < MOST * growth.job_relative:
        return None
    confidence = min(1.0, float(np.median(growth.busy + growth.transfer)) / growth.job)
    return replace(case.verdict(SlowKind.THROUGHPUT), confidence=confidence)


def _communication(case: _Case) -> SlowVerdict | None:
    growth, hot = case.growth, [one.edge for one in case.hot()]
    starved = np.count_nonzero(growth.busy >= np.maximum(HINT * growth.job, CHANCE * growth.busy_error))
    share = min(1.0, float(np.median(growth.transfer)) / growth.job)
    if (share < MOST and not hot) or not _is_plain(growth, share):
        return None
    if 0 < 2 * starved <= len(case.ranks) and not hot:  # some may be stopped: all transfers wait for them
        return None
    pairs = {frozenset(edge) for edge in hot}
    hub = set.intersection(*map(set, pairs)) if len(pairs) >= 3 else set()
    missing = () if hub else ("a probe of the links: the recording does not show which is slow",)
    return replace(
        case.verdict(SlowKind.COMMUNICATION),
        culprits=tuple(hub),
        share=share,
        confidence=0.9 if not missing else 0.6,
        missing=missing,
    )


def _is_plain(growth: Growth, share: float) -> bool:
    """Tell whether there are enough slow iterations, or every one of a few shows a much longer transfer."""
    certain = growth.certainty >= 2 * CERTAIN and share >= MOST and growth.transfer_steady >= NEARLY_ALL
    return growth.iterations >= ENOUGH or (certain and _is_large(growth))


def _is_large(growth: Growth) -> bool:
    """Tell whether the job is so much slower, or for so long, that it is no passing thing."""
    return growth.iterations >= ENOUGH or 1 + growth.job_relative >= PLAIN
