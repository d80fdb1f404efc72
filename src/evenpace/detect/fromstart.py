"""Who is slow from the start, followed over a sliding window: first told, then over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evenpace.detect.attribution import SlowKind, SlowVerdict
from evenpace.detect.growth import Stretch
from evenpace.detect.levelling import level_peers
from evenpace.detect.peers import Outlier, outliers

WINDOW = 15  # iterations in which a rank must stand out to be slow from the start
CALM = 5  # iterations without standing out after which it no longer is


class FromStart:
    """Compare ranks of equal role in each latest stretch of a job that is not known to have become slow."""

    def __init__(self, ranks: Sequence[int], roles: Sequence[str], nodes: Mapping[int, str]) -> None:
        self._ranks, self._roles, self._nodes = list(ranks), list(roles), dict(nodes)
        self._blamed: tuple[int, ...] = ()
        self._calm = 0

    def forget(self) -> bool:
        """Blame nobody any more; return whether somebody was."""
        blamed, self._blamed, self._calm = self._blamed, (), 0
        return bool(blamed)

    def feed(self, stretch: Stretch) -> tuple[SlowVerdict, float] | None:
        """Take the latest `WINDOW` iterations; return who stands out and how far, when that is new.

        The ratio is the rank's own time to its peers'. Where somebody was told, see `over`.
        """
        busy = stretch.busy if stretch.work is None else level_peers(stretch.busy, stretch.work)
        found = outliers(busy, stretch.waiting, stretch.durations, self._roles)
        culprits = tuple(self._ranks[one.position] for one in found)
        if self._blamed:
            self._calm = 0 if set(culprits) & set(self._blamed) else self._calm + 1
            return None
        names = {self._nodes.get(rank) for rank in culprits}
        if not culprits or (len(culprits) > 1 and (len(names) > 1 or None in names)):
            return None
        self._blamed = culprits
        return _verdict(stretch, culprits, found)

    def over(self) -> bool:
        """Tell whether whoever was told has not stood out for a while; they are forgotten then."""
        return self._calm >= CALM and self.forget()


def _verdict(
    stretch: Stretch, culprits: tuple[int, ...], found: Sequence[Outlier]
) -> tuple[SlowVerdict, float]:
    surplus = max(one.surplus for one in found)
    ratio = max(one.ratio for one in found)
    verdict = SlowVerdict(
        SlowKind.NON_COMMUNICATION,
        culprits,
        share=min(1.0, surplus / float(stretch.durations[-1])),
        excess={rank: one.surplus for rank, one in zip(culprits, found, strict=True)},
        confidence=min(0.9, ratio - 0.6),
        evidence={"own time to the median of peers": ratio, "seconds an iteration lost": surplus},
    )
    return verdict, ratio
