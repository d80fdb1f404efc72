"""Have workers and links measured where that has earned its pause; one measurement at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from evenpace.collect.job.rings import read_groups
from evenpace.locate.links import links_in_use
from evenpace.respond.probing import ProbeRequest
from evenpace.respond.strategies import Edge
from evenpace.tap.inject.evenpace_tap import layout
from evenpace.watch.events import Probed

PAUSE = 2.0  # seconds that a measurement is taken to cost before one was made
MOST_LINKS = 4096


class Prober(Protocol):
    """What measures: `evenpace.respond.probing.Probing`."""

    @property
    def busy(self) -> bool:
        """Tell whether a measurement is under way."""

    def start(self, request: ProbeRequest) -> bool:
        """Announce a pause and measure; False where one is under way."""

    def poll(self) -> Probed | None:
        """Return the result once it is there; never blocks."""

    def cancel(self) -> None:
        """Let everybody go on."""


ProberFactory = Callable[[int, Mapping[int, Path], Mapping[int, str]], Prober]
"""(incarnation, rings by rank, nodes by rank) -> what measures them."""


@dataclass(slots=True)
class Probes:
    """The measurements of one incarnation, whose first healthy one is what later ones are compared with."""

    make: ProberFactory
    price: float = PAUSE  # seconds; twice that after each that failed
    _prober: Prober | None = None

    @property
    def busy(self) -> bool:
        """Tell whether one is under way."""
        return self._prober is not None and self._prober.busy

    @property
    def begun(self) -> bool:
        """Tell whether there was one."""
        return self._prober is not None

    def start(
        self,
        incarnation: int,
        rings: Mapping[int, Path],
        nodes: Mapping[int, str],
        links: Sequence[Edge] = (),
        healthy: bool = False,
    ) -> None:
        """Begin a measurement of all ranks and of these links (none: those of all groups)."""
        if self._prober is None:
            self._prober = self.make(incarnation, rings, nodes)
        asked = tuple(links or _in_use(rings))[:MOST_LINKS]
        self._prober.start(ProbeRequest(tuple(sorted(rings)), asked, healthy=healthy))

    def poll(self) -> Probed | None:
        """Return the result of the one under way once it is there."""
        result = self._prober.poll() if self._prober else None
        if result is not None:
            self.price = 2 * self.price if result.failed else max(result.pause, 0.1)
        return result

    def cancel(self) -> None:
        """End the one under way; training goes on."""
        if self._prober is not None:
            self._prober.cancel()


def _in_use(rings: Mapping[int, Path]) -> list[Edge]:
    """Return the links that collectives use as rings.

    A group that has others within it (the world, beside pipelines and their replicas) is for control.
    """
    found = {
        group.ranks
        for ring in rings.values()
        for group in read_groups(ring.with_suffix(layout.GROUPS_SUFFIX)).values()
        if all(rank in rings for rank in group.ranks)
    }
    sets = [frozenset(ranks) for ranks in found if len(ranks) > 1]
    return links_in_use(sorted(ranks for ranks in found if not any(one < set(ranks) for one in sets)))
