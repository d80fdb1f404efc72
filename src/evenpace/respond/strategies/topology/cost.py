"""What an iteration of pipelines with data parallelism takes, by who sits where.

Each replica is a pipeline of stages (1F1B); then the replicas of each stage add their gradients up in a
ring, in the order of the replicas. A ring waits for its slowest member and goes at the pace of its slowest
link; all meet at the end, as where gradients are clipped by their global norm. Links are taken to be used in
both directions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from evenpace.respond.strategies.topology import pipeline

Array = NDArray[np.float64]
Ranks = NDArray[np.int64]  # [..., stages, replicas]: which rank sits there


@dataclass(frozen=True, slots=True)
class Shape:
    """What an iteration consists of where all is healthy: seconds and bytes, arrays by stage.

    `forward` and `backward` are the seconds of one micro-batch, `activation` the bytes of one over a link
    of the pipeline in either direction, `gradients` the bytes that the ring of a stage reduces, `bandwidth`
    bytes a second.
    """

    replicas: int
    micro_batches: int
    forward: Array
    backward: Array
    activation: float
    gradients: Array
    bandwidth: float

    @property
    def stages(self) -> int:
        """Return how many stages a pipeline has."""
        return len(self.forward)

    @property
    def message(self) -> float:
        """Return the seconds of one activation over a healthy link."""
        return self.activation / self.bandwidth

    @property
    def rings(self) -> Array:
        """Return the seconds of each stage's all-reduce over healthy links: 2(D-1)/D of its bytes a link."""
        return self.gradients * (2 * (self.replicas - 1) / self.replicas / self.bandwidth)


@dataclass(frozen=True, slots=True)
class Condition:
    """How many times as long as healthy: `factors` by rank, `links` by pair of ranks (symmetric)."""

    factors: Array
    links: Array

    @classmethod
    def of(cls, ranks: int, factors: Mapping[int, float], links: Mapping[tuple[int, int], float]) -> Self:
        """Make it of what is not healthy; of a link's two directions the slower counts."""
        alone, pairs = np.ones(ranks), np.ones((ranks, ranks))
        for rank, factor in factors.items():
            alone[rank] = factor
        for (source, target), factor in links.items():
            pairs[source, target] = pairs[target, source] = max(factor, pairs[source, target])
        return cls(alone, pairs)


def iteration(shape: Shape, condition: Condition, ranks: Ranks) -> Array:
    """Return the seconds of an iteration for each assignment, [...] for ranks [..., stages, replicas]."""
    columns = np.moveaxis(ranks, -1, -2)
    ready = drained(shape, condition, columns).max(axis=-2)
    finishes: Array = ready + shape.rings * ring_links(condition, ranks).max(axis=-1)
    seconds: Array = finishes.max(axis=-1)
    return seconds


def drained(shape: Shape, condition: Condition, columns: Ranks) -> Array:
    """Return when each stage of pipelines has done its last backward, [..., stages]; seconds.

    `columns` [..., stages] are the ranks of the pipelines. Pipelines that are alike are played through once.
    """
    flat = columns.reshape(-1, shape.stages)
    alone, links = condition.factors[flat], condition.links[flat[:, :-1], flat[:, 1:]]
    # Unequal ones meet in one number once in 2 ** 50 or so; np.unique over rows takes many times as long.
    number = alone @ _weights(shape.stages) + links @ _weights(2 * shape.stages)[shape.stages + 1 :]
    _, first, which = np.unique(number, return_index=True, return_inverse=True)
    alone, links = alone[first], links[first]
    times = pipeline.ends(
        shape.forward * alone, shape.backward * alone, shape.message * links, shape.micro_batches
    )
    return times[which].reshape(columns.shape)


@lru_cache(maxsize=32)
def _weights(count: int) -> Array:
    return np.random.default_rng(count).random(count)


def ring_links(condition: Condition, ranks: Ranks) -> Array:
    """Return the factor of each link of rings, [..., replicas]; 1 where one alone makes no ring."""
    if ranks.shape[-1] == 1:
        return np.ones(ranks.shape)
    return condition.links[ranks, np.roll(ranks, -1, axis=-1)]
