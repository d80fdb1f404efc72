"""What a measurement should have been: by its peers, and by what it was in health."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_SPREADS = 6.0  # so many times the spread of peers is no chance
_TO_SIGMA = 1.4826
_FEWEST = 4  # peers that show a spread
_MANY = 64  # of so many, one more or less does not matter


@dataclass(frozen=True, slots=True)
class Peers:
    """The median of comparable measurements, and their robust spread relative to it; None without any."""

    median: float | None = None
    spread: float = 0.0


@dataclass(frozen=True, slots=True)
class Level:
    """What was to be expected, and from how many times that on a measurement is slow."""

    expected: float
    limit: float

    def slow(self, measured: float) -> bool:
        """Tell whether a measurement is."""
        return measured > self.limit * self.expected


def level(peers: Peers, healthy: float | None, own: float, least: float) -> Level:
    """Return the lower of the peers' median and the first healthy measurement; `own` where there is neither.

    The limit is `least`, or more where the peers differ much among themselves (median absolute deviation).
    """
    known = [value for value in (peers.median, healthy) if value]
    return Level(min(known, default=own), max(least, 1.0 + _SPREADS * peers.spread))


def peers(values: Sequence[float], kinds: Sequence[Hashable]) -> list[Peers]:
    """Return for each measurement what the others of its kind are; among many, itself may be one of them."""
    members: dict[Hashable, list[int]] = {}
    for place, kind in enumerate(kinds):
        members.setdefault(kind, []).append(place)
    measured = np.asarray(values, np.float64)
    found = [Peers()] * len(kinds)
    for places in members.values():
        few = len(places) <= _MANY
        whole = Peers() if few else _peers(measured[places])
        for place in places:
            found[place] = _peers(measured[[one for one in places if one != place]]) if few else whole
    return found


def _peers(values: NDArray[np.float64]) -> Peers:
    if not values.size:
        return Peers()
    middle = float(np.median(values))
    if values.size < _FEWEST or not middle:
        return Peers(middle)
    return Peers(middle, float(_TO_SIGMA * np.median(np.abs(values - middle)) / middle))
