"""What every swap of two ranks would bring, many at once: only two pipelines and two rings change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenpace.respond.strategies.topology.cost import Array, Condition, Ranks, Shape, drained, ring_links

Flags = NDArray[np.bool_]
_NORM = 64
Pairs = NDArray[np.int64]  # [swaps, 2]: positions, stage * replicas + replica


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of assignments, [swaps]: seconds of an iteration, and `total`, which tells apart what is equal in them.

    `total` is a norm of what pipelines take, near their maximum, plus the mean of ring links: it falls also
    while one that is as slow remains, so that several steps lead to where no single one does.
    """

    seconds: Array
    total: Array


class Assignment:
    """Who sits where, `ranks` [stages, replicas], and what is needed to judge swaps."""

    def __init__(self, shape: Shape, condition: Condition, ranks: Ranks) -> None:
        self.ranks = ranks
        self._shape, self._condition = shape, condition
        self._ends = drained(shape, condition, ranks.T)  # [replicas, stages]
        links = ring_links(condition, ranks)
        self._ring_most, self._ring_mean = links.max(axis=-1), links.mean(axis=-1)
        self._latest = np.argsort(-self._ends, axis=0, kind="stable")[:3]  # replicas, [up to 3, stages]
        self.seconds = float((self._ends.max(axis=0) + shape.rings * self._ring_most).max())
        self._unit = float(self._ends[:, 0].max())
        self._powers = (self._ends[:, 0] / self._unit) ** _NORM
        self.total = float(self._norm(self._powers.sum()) + (shape.rings * self._ring_mean).sum())

    def swapped(self, pair: Pairs) -> Assignment:
        """Return the assignment after a swap of two positions [2]."""
        ranks = self.ranks.copy()
        ranks.flat[pair] = ranks.flat[pair[::-1]]
        return Assignment(self._shape, self._condition, ranks)

    def outcomes(self, pairs: Pairs) -> Outcome:
        """Judge swaps."""
        stage, replica = np.divmod(pairs, self.ranks.shape[1])
        ends = drained(self._shape, self._condition, self._columns(pairs, stage, replica))
        most, mean = self._rings(pairs, stage, replica)
        ready = np.maximum(self._others(replica), ends.max(axis=1))
        return Outcome(
            seconds=(ready + self._shape.rings * most).max(axis=1),
            total=self._norm(self._powered(replica, ends[:, :, 0])) + (self._shape.rings * mean).sum(axis=1),
        )

    def _norm(self, powers: Array) -> Array:
        """Return the norm of what pipelines take, of the sum of their powers."""
        norm: Array = self._unit * (powers / self.ranks.shape[1]) ** (1 / _NORM)
        return norm

    def _powered(self, replica: Pairs, ends: Array) -> Array:
        """Return the sum of the powers of all pipelines, the two that a swap changes being `ends`."""
        kept = np.ones((len(replica), self.ranks.shape[1]))
        np.put_along_axis(kept, replica, 0.0, axis=1)
        new = (ends / self._unit) ** _NORM
        new[replica[:, 0] == replica[:, 1], 1] = 0.0
        powers: Array = kept @ self._powers + new.sum(axis=1)
        return powers

    def _columns(self, pairs: Pairs, stage: Pairs, replica: Pairs) -> Ranks:
        """Return the two pipelines that a swap leaves, [swaps, 2, stages]; the same one twice within one."""
        columns = self.ranks.T[replica]
        ranks, each = self.ranks.ravel()[pairs], np.arange(len(pairs))
        same = replica[:, 0] == replica[:, 1]
        for mine, other in ((0, 1), (1, 0)):
            columns[each, mine, stage[:, mine]] = ranks[:, other]
            columns[each[same], mine, stage[same, other]] = ranks[same, mine]
        return columns

    def _rings(self, pairs: Pairs, stage: Pairs, replica: Pairs) -> tuple[Array, Array]:
        """Return the slowest and the mean link of each stage's ring after a swap, [swaps, stages]."""
        rows = self.ranks[stage]
        ranks, each = self.ranks.ravel()[pairs], np.arange(len(pairs))
        same = stage[:, 0] == stage[:, 1]
        for mine, other in ((0, 1), (1, 0)):
            rows[each, mine, replica[:, mine]] = ranks[:, other]
            rows[each[same], mine, replica[same, other]] = ranks[same, mine]
        links = ring_links(self._condition, rows)
        most, mean = (np.tile(known, (len(pairs), 1)) for known in (self._ring_most, self._ring_mean))
        np.put_along_axis(most, stage, links.max(axis=-1), axis=1)
        np.put_along_axis(mean, stage, links.mean(axis=-1), axis=1)
        return most, mean

    def _others(self, replica: Pairs) -> Array:
        """Return when the last of the pipelines that a swap does not touch is done, [swaps, stages]."""
        latest = np.full((len(replica), self.ranks.shape[0]), -np.inf)
        for candidates in self._latest[::-1]:  # the latest one that is not touched overwrites the others
            free: Flags = (candidates != replica[:, :1]) & (candidates != replica[:, 1:])
            times = self._ends[candidates, np.arange(len(candidates))]
            latest = np.where(free, times, latest)
        return latest
