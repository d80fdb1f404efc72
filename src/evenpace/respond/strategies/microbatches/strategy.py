"""S2: give a slow replica fewer micro-batches. The gradients stay the same, and so do a step's samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenpace.respond.strategies import Cause, Estimate, Job, MicroBatchOffer, Trouble
from evenpace.respond.strategies.microbatches.solver import Counts, Floats, even, solve, times

NOISE = 0.01  # of an iteration: a plan that saves less is none
# Micro-batches of a replica, where there are as many: of one alone the time is not measured, so that nobody
# would see that it is well again.
TIMED = 2


@dataclass(frozen=True, slots=True)
class _Replicas:
    """What each replica needs for a step beside its micro-batches, and for one of them; seconds."""

    fixed: Floats
    each: Floats
    counts: Counts  # in force

    def seconds(self, counts: Counts) -> float:
        return float(times(self.fixed, self.each, counts).max())


class MicroBatchStrategy:
    """Split a step's micro-batches so that all replicas are done at the same time, as nearly as can be."""

    name = "micro-batches"

    def estimate(self, trouble: Trouble, job: Job) -> Estimate | None:
        """Return the best counts and the iteration time under them.

        None for a slow link, for a loop that cannot split, and where nothing would be saved.
        """
        offer = job.microbatches
        if trouble.cause is Cause.LINK or offer is None:
            return None
        replicas = _measured(job, offer)
        if replicas is None:
            return None
        healthy = even(offer.total, len(offer.replicas))
        best = solve(
            replicas.fixed,
            replicas.each,
            offer.total,
            minimum=max(offer.least, min(TIMED, offer.total // len(offer.replicas))),
            present=[int(one) for one in replicas.counts],
        )
        saved = replicas.seconds(healthy) - best.seconds
        even_now = _without_plan(trouble, job, replicas, healthy)
        if saved < NOISE * even_now:
            return None
        counts = tuple(best.counts.tolist())  # they change at the beginning of a step: an iteration at most
        return Estimate(trouble.healthy, max(even_now - saved, 0.0), counts)

    def healthy(self, job: Job) -> Estimate | None:
        """Return even counts; None where they are in force."""
        offer = job.microbatches
        if offer is None:
            return None
        wanted = even(offer.total, len(offer.replicas))
        if np.array_equal(_counts(job, offer), wanted):
            return None
        replicas = _measured(job, offer)
        iteration = 0.0 if replicas is None else replicas.seconds(wanted)
        return Estimate(iteration, iteration, tuple(wanted.tolist()))


def _without_plan(trouble: Trouble, job: Job, replicas: _Replicas, healthy: Counts) -> float:
    """Return what an iteration would take now with even counts, whoever a plan in force was for."""
    if job.iteration is None:
        return trouble.now
    return job.iteration + replicas.seconds(healthy) - replicas.seconds(replicas.counts)


def _counts(job: Job, offer: MicroBatchOffer) -> Counts:
    """Return the counts in force."""
    if len(job.counts) != len(offer.replicas):
        return even(offer.total, len(offer.replicas))
    return np.array(job.counts, np.int64)


def _measured(job: Job, offer: MicroBatchOffer) -> _Replicas | None:
    """Return what replicas need, None where a time is not known: a replica is as slow as its slowest rank."""
    ranks = [rank for replica in offer.replicas for rank in replica]
    known = ranks and all(offer.replicas) and all(job.micro_batch.get(rank, 0.0) > 0 for rank in ranks)
    if not known or offer.total < offer.least * len(offer.replicas):
        return None
    counts = _counts(job, offer)
    each = np.array([max(job.micro_batch[rank] for rank in replica) for replica in offer.replicas])
    own = np.array([max(job.own.get(rank, 0.0) for rank in replica) for replica in offer.replicas])
    return _Replicas(np.maximum(own - counts * each, 0.0), each, counts)
