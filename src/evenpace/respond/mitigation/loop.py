"""The job's own loop as its rings tell: what it offers, the plan in force, each rank's micro-batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from evenpace.collect.job.rings import RingHeader
from evenpace.respond.mitigation.announcing import Offers, read_header, read_offers
from evenpace.tap.inject.evenpace_tap import layout
from evenpace.watch.events import WorkerJoined


def ring_of(folder: Path, worker: WorkerJoined) -> Path:
    """Return the path of a worker's ring."""
    return folder / f"{worker.node.replace('/', '_')}.{worker.pid}{layout.RING_SUFFIX}"


@dataclass(frozen=True, slots=True)
class Loop:
    """One look at all rings of a job, by rank."""

    rings: Mapping[int, Path]
    offers: Offers = field(default_factory=Offers)
    headers: Mapping[int, RingHeader] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Tell whether every worker was seen."""
        return bool(self.rings) and len(self.headers) == len(self.rings)

    @property
    def version(self) -> int:
        """Return the newest plan that any rank has put in force; 0 where there was none."""
        return max((header.plan_version for header in self.headers.values()), default=0)

    def in_force(self, version: int) -> bool:
        """Tell whether every rank has put that plan in force."""
        return self.complete and all(header.plan_version >= version for header in self.headers.values())

    @property
    def plan_step(self) -> int:
        """Return the step from which the plan was in force."""
        return max((header.plan_step for header in self.headers.values()), default=0)

    @property
    def plan_pause(self) -> float:
        """Return the seconds that training stood still for it."""
        return max((header.plan_pause_ns for header in self.headers.values()), default=0) / 1e9

    @property
    def micro_batch(self) -> dict[int, float]:
        """Return each rank's own time of a micro-batch in seconds, where the loop measures it."""
        timed = {rank: header.micro_batch_ns / 1e9 for rank, header in self.headers.items()}
        return timed if timed and all(timed.values()) else {}

    @property
    def counts(self) -> tuple[int, ...]:
        """Return the micro-batches of each replica in the latest step; empty where they are not known."""
        offer = self.offers.microbatches
        if offer is None or not self.complete:
            return ()
        counts = tuple(self.headers[ranks[0]].micro_batches for ranks in offer.replicas)
        return counts if max(counts) <= offer.total else ()

    def factors(self) -> dict[int, float]:
        """Return how many times its peers' micro-batch each rank takes; peers are of its stage.

        Empty where the loop does not measure them.
        """
        timed = self.micro_batch
        stages = _stages(self.offers)
        peers: dict[int, list[float]] = {}
        for rank, seconds in timed.items():
            peers.setdefault(stages.get(rank, 0), []).append(seconds)
        usual = {stage: float(np.median(times)) for stage, times in peers.items()}
        return {rank: seconds / usual[stages.get(rank, 0)] for rank, seconds in timed.items()}


def _stages(offers: Offers) -> dict[int, int]:
    positions = offers.positions
    return {rank: at // positions.data for rank, at in enumerate(positions.ranks)} if positions else {}


def look(rings: Mapping[int, Path]) -> Loop:
    """Look at the rings, by rank."""
    if 0 not in rings:
        return Loop(rings)
    headers = {rank: header for rank, ring in rings.items() if (header := read_header(ring)) is not None}
    return Loop(rings, _of_job(read_offers(rings[0]), sorted(rings)), headers)


def _of_job(offers: Offers, ranks: list[int]) -> Offers:
    """Leave out what is not about exactly these ranks."""
    shared = offers.microbatches
    placed = offers.positions
    if shared and sorted(rank for replica in shared.replicas for rank in replica) != ranks:
        shared = None
    return Offers(shared, placed if placed and sorted(placed.ranks) == ranks else None)
