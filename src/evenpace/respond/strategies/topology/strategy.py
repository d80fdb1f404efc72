"""S3: move slow ranks and links to where they hurt least (Greyhound, USENIX ATC'25, without its relaunch)."""

from __future__ import annotations

import numpy as np

from evenpace.respond.strategies import Estimate, Job, PositionOffer, Trouble
from evenpace.respond.strategies.topology.cost import Array, Condition, Ranks, Shape, iteration
from evenpace.respond.strategies.topology.search import search
from evenpace.respond.strategies.topology.shaping import seated, shape_of

WORTH = 0.1  # of what is lost in an iteration: a plan that saves less is none
NOISE = 0.01  # of an iteration, likewise
REGROUP = 0.2  # seconds for new process groups, as measured (docs/benchmarks/failslow_topology.md)
_BANDWIDTHS = 1e6, 1e12  # bytes a second: a fitted one is taken to lie between, where a move is priced


class TopologyStrategy:
    """Other positions for the ranks of a job with pipelines and data parallelism."""

    name = "topology"

    def estimate(self, trouble: Trouble, job: Job) -> Estimate | None:
        """Return the best positions and the iteration time under them.

        None where the loop cannot move, nothing is known of who is slow, or too little would be saved. Slow
        ranks of a single stage are slow wherever they are.
        """
        offer = job.positions
        if offer is None or not (trouble.factors or trouble.links) or trouble.now <= trouble.healthy:
            return None
        if offer.pipeline == 1 and not trouble.links:
            return None
        if any(rank >= len(offer.ranks) for rank in _named(trouble)):
            return None
        well, ill = (
            Condition.of(len(offer.ranks), *one) for one in (({}, {}), (trouble.factors, trouble.links))
        )
        for slowed in _slowed(offer):
            shape = shape_of(job, offer, trouble, slowed)
            if shape is None:
                return None
            healthy, slow = float(iteration(shape, well, slowed)), float(iteration(shape, ill, slowed))
            if slow > healthy * (1 + NOISE):
                return self._planned(trouble, offer, shape, ill, (healthy, slow))
        return None

    def healthy(self, job: Job) -> Estimate | None:
        """Return the original positions.

        None where they are in force, or where as many neighbours share a node as before: going back would
        cost a pause and gain nothing.
        """
        offer = job.positions
        first = tuple(range(len(offer.ranks))) if offer else ()
        if offer is None or offer.ranks == first:
            return None
        if _between_nodes(job, offer, offer.ranks) <= _between_nodes(job, offer, first):
            return None
        return Estimate(REGROUP, 0.0, positions=first)

    def _planned(
        self,
        trouble: Trouble,
        offer: PositionOffer,
        shape: Shape,
        ill: Condition,
        modelled: tuple[float, float],
    ) -> Estimate | None:
        """Search, and scale what the model says of the loss that remains to the loss that was measured."""
        healthy, slow = modelled
        current = seated(offer.ranks, offer.pipeline)
        found = search(shape, ill, current)
        lost = trouble.now - trouble.healthy
        saved = lost * (slow - found.seconds) / (slow - healthy)
        if saved < max(WORTH * lost, NOISE * trouble.now):
            return None
        cost = 2 * (REGROUP + _moving(offer, shape, ill, current, found.ranks))
        positions = tuple(np.argsort(found.ranks, axis=None).tolist())
        return Estimate(cost, trouble.now - saved, positions=positions)


def _slowed(offer: PositionOffer) -> list[Ranks]:
    """Return whom the time without this strategy may be of: the original positions, then those in force."""
    first = seated(range(len(offer.ranks)), offer.pipeline)
    return [first, seated(offer.ranks, offer.pipeline)]


def _named(trouble: Trouble) -> list[int]:
    return [*trouble.factors, *(rank for link in trouble.links for rank in link)]


def _moving(offer: PositionOffer, shape: Shape, ill: Condition, before: Ranks, after: Ranks) -> float:
    """Return the seconds until every rank that changes its stage has its state; all move at once."""
    change = np.argsort(before, axis=None)[after] // offer.data != np.arange(offer.pipeline)[:, None]
    sizes: Array = np.array(offer.bytes, float)[:, None] * ill.links[before, after]
    return float((sizes * change).max()) / float(np.clip(shape.bandwidth, *_BANDWIDTHS))


def _between_nodes(job: Job, offer: PositionOffer, positions: tuple[int, ...]) -> int:
    """Return how many neighbours in pipelines and rings are on different nodes."""
    ranks = seated(positions, offer.pipeline)
    node = np.array([job.nodes.get(rank, str(rank)) for rank in range(len(positions))])[ranks]
    return int((node[1:] != node[:-1]).sum() + (node != np.roll(node, -1, axis=1)).sum())
