"""Who should sit where: a deterministic local search over swaps, with a lower bound that may end it."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np

from evenpace.respond.strategies.topology import pipeline
from evenpace.respond.strategies.topology.cost import Array, Condition, Ranks, Shape
from evenpace.respond.strategies.topology.swaps import Assignment, Pairs

AS_GOOD = 1e-3  # of an iteration: so much is given up for fewer moves
_DIGITS = 9  # of the bound: closer together is equal
_KICKS = 12  # how often the search starts again from somewhere near the best
_EFFORT = 1 << 20  # what is judged in all, swaps times their pipelines and rings, after which it does not
_FAR = 3  # swaps from there
_EXTRA = 64  # affected ranks up to which all of them are moved, not only a cover of the slow links


@dataclass(frozen=True, slots=True)
class Found:
    """An assignment `ranks` [stages, replicas], its iteration in seconds, and what no other can beat.

    `moved` counts the ranks that change their stage.
    """

    ranks: Ranks
    seconds: float
    bound: float
    moved: int


def search(shape: Shape, condition: Condition, current: Ranks) -> Found:
    """Find the assignment with the shortest iteration; among about equals, one near `current`.

    Steepest descent over swaps that involve an affected rank, again from disturbed copies of the best while
    the lower bound is not reached, then swaps back of what brought nothing.
    """
    bound = lower_bound(shape, condition)
    descent = _Descent(bound, _affected(condition))
    best = descent.run(Assignment(shape, condition, current))
    random = Random(0)  # noqa: S311  the same search gives the same answer
    for _ in range(_KICKS):
        if best.seconds <= bound * (1 + AS_GOOD) or descent.effort > _EFFORT:
            break
        best = min(best, descent.run(descent.kicked(best, random)), key=descent.rank)
    best = _nearer(best, current)
    return Found(best.ranks, best.seconds, bound, int((_stages(best.ranks) != _stages(current)).sum()))


def lower_bound(shape: Shape, condition: Condition) -> float:
    """Return an iteration time that no assignment beats.

    As if all links were healthy and the slowest rank had the best place; and as one of D replicas has at
    least j + 1 of the j D + 1 slowest ranks, wherever they are in it.
    """
    slowest = np.sort(condition.factors)[::-1]
    alone = 1 + (slowest[0] - 1) * np.eye(shape.stages)  # a pipeline for each place of the slowest
    message = np.full((shape.stages, shape.stages - 1), shape.message)
    ends = pipeline.ends(shape.forward * alone, shape.backward * alone, message, shape.micro_batches)
    bounds = [float((ends + shape.rings).max(axis=1).min())]
    work = np.sort(shape.forward + shape.backward)
    for several in range(1, shape.stages):
        factor = float(slowest[several * shape.replicas])
        busy = shape.micro_batches * factor * work[several]
        through = work.sum() + (factor - 1) * work[: several + 1].sum() + 2 * message[0].sum()
        bounds.append(float(max(busy, through) + shape.rings[0]))
    return max(bounds)


def _affected(condition: Condition) -> list[int]:
    """Return the ranks to move: slow ones, and a cover of the slow links or, if few, both ends."""
    slow = condition.factors > 1
    links = condition.links > 1
    ends = slow | links.any(axis=1)
    if ends.sum() <= _EXTRA:
        return np.flatnonzero(ends).tolist()
    cover = slow.copy()
    links[cover] = links[:, cover] = False
    while links.any():
        most = int(links.sum(axis=1).argmax())
        cover[most] = True
        links[most] = links[:, most] = False
    return np.flatnonzero(cover).tolist()


class _Descent:
    """Takes the best swap of an affected rank while there is one that helps."""

    def __init__(self, bound: float, affected: list[int]) -> None:
        self.effort = 0
        self._affected = affected
        self._bound = bound

    def run(self, at: Assignment) -> Assignment:
        """Go down from an assignment to one that no swap makes better."""
        while at.seconds > self._bound * (1 + 10**-_DIGITS) and self._affected:
            pairs = _pairs(at.ranks, self._affected)
            outcome = at.outcomes(pairs)
            self.effort += len(pairs) * sum(at.ranks.shape)
            best = np.lexsort((self._stepped(outcome.total), self._stepped(outcome.seconds)))[0]
            after = at.swapped(pairs[best])
            if self.rank(after) >= self.rank(at):
                return at
            at = after
        return at

    def rank(self, at: Assignment) -> tuple[float, float]:
        """Return what orders assignments: the shorter iteration, then the smaller total."""
        return float(self._stepped(at.seconds)), float(self._stepped(at.total))

    def kicked(self, at: Assignment, random: Random) -> Assignment:
        """Return the assignment after a few swaps of affected ranks at random."""
        for _ in range(_FAR):
            pairs = _pairs(at.ranks, [random.choice(self._affected)])
            at = at.swapped(pairs[random.randrange(len(pairs))])
        return at

    def _stepped(self, seconds: float | Array) -> Array:
        return np.round(np.asarray(seconds) / self._bound, _DIGITS)


def _pairs(ranks: Ranks, affected: list[int]) -> Pairs:
    """Return all swaps of an affected rank with any other, as pairs of positions."""
    place = _places(ranks)
    mine = np.repeat(place[affected], ranks.size)
    other = np.tile(np.arange(ranks.size), len(affected))
    pairs: Pairs = np.stack([mine, other], axis=1)[mine != other]
    return pairs


def _nearer(best: Assignment, current: Ranks) -> Assignment:
    """Swap ranks back to where they came from as long as the iteration stays about as short."""
    limit = best.seconds * (1 + AS_GOOD)
    home = _places(current)
    while True:
        place = _places(best.ranks)
        away = np.flatnonzero(place != home)
        pairs = np.stack([place[away], home[away]], axis=1)
        if not len(pairs):
            return best
        gain = _gains(best.ranks, current, pairs)
        good = (best.outcomes(pairs).seconds <= limit) & (gain > 0)
        if not good.any():
            return best
        best = best.swapped(pairs[np.where(good, gain, 0).argmax()])


def _gains(ranks: Ranks, current: Ranks, pairs: Pairs) -> Array:
    """Return how much nearer to `current` swaps come: a rank at home counts 1, one in its stage many more."""
    ranks_there, replicas = ranks.ravel()[pairs], current.shape[1]
    home = _places(current)[ranks_there]
    weight = float(ranks.size)
    before = (home == pairs) + weight * (home // replicas == pairs // replicas)
    turned = pairs[:, ::-1]
    after = (home == turned) + weight * (home // replicas == turned // replicas)
    gains: Array = (after - before).sum(axis=1)
    return gains


def _places(ranks: Ranks) -> Ranks:
    """Return the position of each rank."""
    return np.argsort(ranks, axis=None)


def _stages(ranks: Ranks) -> Ranks:
    """Return the stage of each rank."""
    stages: Ranks = _places(ranks) // ranks.shape[1]
    return stages
