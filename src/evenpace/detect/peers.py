"""Ranks against their peers: who is slow from the start, when there is no healthy stretch to compare with.

Only ranks of equal role (the same work) are compared. Most slowness in the field is there from the first step
(OSDI'25, arXiv 2505.05713), where no onset can ever be seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
RATIO = 1.3  # of a rank's own time to the median of its peers, with two peers or more
RATIO_OF_TWO = 1.6  # with a single peer: either may be the odd one, so it must be very clear
WORTH_A_LOOK = 1.2  # ratio to the median of all of its role: a cheap first sieve
CAUTION = 2.0  # standard errors by which the ratio must exceed that
PERSISTENT = 0.8  # share of iterations in which at least half of that is seen
SMALLEST_SHARE = 0.1  # of the iteration: less is not worth a word
WAITING_SHARE = 0.5  # of a rank's surplus that its peers must be seen to wait


@dataclass(frozen=True, slots=True)
class Outlier:
    """A column whose own time is above its peers': `ratio` to their median, `surplus` in seconds."""

    position: int
    ratio: float
    surplus: float


def outliers(busy: Array, waiting: Array, durations: Array, roles: Sequence[str]) -> list[Outlier]:
    """Find who is slower than its peers all along.

    `busy` and `waiting` are seconds, shape [iterations, ranks]; `durations` [iterations]; `roles` one a
    rank. A rank stands out where it works longer than its peers in nearly every iteration, and they wait
    for it meanwhile.
    """
    members = {role: [at for at, one in enumerate(roles) if one == role] for role in set(roles)}
    usual = np.median(busy, axis=0)
    found = (
        _outlier(position, [one for one in members[role] if one != position], busy, waiting, durations)
        for position, role in enumerate(roles)
        if usual[position] > WORTH_A_LOOK * np.median(usual[members[role]])
    )
    return [one for one in found if one]


def _outlier(
    position: int, peers: list[int], busy: Array, waiting: Array, durations: Array
) -> Outlier | None:
    if not peers:
        return None
    needed = RATIO if len(peers) > 1 else RATIO_OF_TWO
    usual = np.median(busy[:, peers], axis=1)
    ratios = busy[:, position] / np.maximum(usual, 1e-9)
    surplus = float(np.median(busy[:, position] - usual))
    waited = float(np.median(np.median(waiting[:, peers], axis=1) - waiting[:, position]))
    ratio = float(np.median(ratios))
    error = 1.2533 * 1.4826 * float(np.median(np.abs(ratios - ratio))) / np.sqrt(len(ratios))
    stands_out = ratio - CAUTION * error > needed and np.mean(ratios > (1 + needed) / 2) >= PERSISTENT
    matters = surplus > SMALLEST_SHARE * np.median(durations) and waited > WAITING_SHARE * surplus
    return Outlier(position, ratio, surplus) if stands_out and matters else None
