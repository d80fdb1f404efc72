"""The cost model's numbers for a running job, from what was measured; what was not is estimated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from statistics import median

import numpy as np

from evenpace.respond.strategies import Cause, Job, PositionOffer, Trouble
from evenpace.respond.strategies.topology.cost import Condition, Ranks, Shape, iteration

FORWARD = 1 / 3  # of a micro-batch; the rest is backward
STATE = 3  # bytes of state for one of gradients: parameters and two moments
ACTIVATIONS = 0.1  # of what a ring link carries in an iteration, where nothing is known of the pipeline's
UNSEEN = 0.3  # of what is expected of a ring: less is other traffic
_SLOWEST, _FASTEST = 1e4, 1e15  # bytes a second, between which the bandwidth is looked for
_HALVINGS = 40


def seated(positions: Iterable[int], stages: int) -> Ranks:
    """Return the rank at each position, [stages, replicas], of positions by rank."""
    return np.argsort(np.fromiter(positions, np.int64)).reshape(stages, -1)


def shape_of(job: Job, offer: PositionOffer, trouble: Trouble, slowed: Ranks) -> Shape | None:
    """Return what a healthy iteration consists of; None where ranks' own times are not known.

    The bandwidth is that at which the model explains the seconds lost in `slowed` or, where no link is slow,
    the healthy iteration.
    """
    ranks = seated(offer.ranks, offer.pipeline)
    micro_batches = offer.micro_batches or 2 * offer.pipeline
    own = [_own(job, trouble, row.tolist()) for row in ranks]
    if not all(own):
        return None
    each = np.array(own) / micro_batches
    rings = np.array(_rings(job, offer, ranks))
    carried = _carried(job, np.stack([ranks[:-1].ravel(), ranks[1:].ravel()], axis=1))
    # A ring link carries 2 (D - 1) / D times the gradients.
    gradients = rings * offer.data / max(2 * (offer.data - 1), 1)
    activation = (carried or ACTIVATIONS * float(rings.mean())) / micro_batches
    shape = Shape(
        offer.data, micro_batches, FORWARD * each, (1 - FORWARD) * each, activation, gradients, _FASTEST
    )
    return replace(shape, bandwidth=_bandwidth(shape, trouble, slowed))


def _own(job: Job, trouble: Trouble, ranks: list[int]) -> float:
    """Return the healthy own time of the ranks of a stage; 0 where none is known."""
    known = [job.own[rank] / trouble.factors.get(rank, 1.0) for rank in ranks if job.own.get(rank, 0.0) > 0]
    return median(known) if known else 0.0


def _rings(job: Job, offer: PositionOffer, ranks: Ranks) -> list[float]:
    """Return the bytes that a ring link of each stage carries in an iteration.

    Where less was seen of a stage than its state lets expect by what the others carry, the rest was not seen.
    """
    seen = [_carried(job, np.stack([row, np.roll(row, -1)], axis=1)) for row in ranks]
    passing = 2 * (offer.data - 1) / offer.data / STATE
    if any(seen):
        passing = max(one / max(size, 1) for one, size in zip(seen, offer.bytes, strict=True))
    expected = [passing * size for size in offer.bytes]
    return [one if one > UNSEEN * more else more for one, more in zip(seen, expected, strict=True)]


def _carried(job: Job, pairs: Ranks) -> float:
    """Return the median of what links carry, in the direction in which they carry more; 0 where not known."""
    there = (max(job.traffic.get((a, b), 0), job.traffic.get((b, a), 0)) for a, b in pairs.tolist())
    known = [one for one in there if one]
    return float(median(known)) if known else 0.0


def _bandwidth(shape: Shape, trouble: Trouble, slowed: Ranks) -> float:
    well, ill = (Condition.of(slowed.size, *one) for one in (({}, {}), (trouble.factors, trouble.links)))
    by_loss = trouble.cause is Cause.LINK
    goal = trouble.now - trouble.healthy if by_loss else trouble.healthy
    low, high = np.log(_SLOWEST), np.log(_FASTEST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        at = replace(shape, bandwidth=float(np.exp(middle)))
        seconds = float(iteration(at, well, slowed))
        if by_loss:
            seconds = float(iteration(at, ill, slowed)) - seconds
        low, high = (middle, high) if seconds > goal else (low, middle)
    return float(np.exp(low))
