"""Have the suspects of an episode measured, where that has earned its pause; one measurement at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from evenpace.respond.strategies import Edge
from evenpace.watch.events import Probed

PAUSE = 2.0  # seconds that a measurement is taken to cost before one was made
BYTES = 16 << 20  # of a link's message


class Prober(Protocol):
    """What measures: `evenpace.respond.probing.Probing`."""

    def start(self, ranks: tuple[int, ...], links: tuple[Edge, ...], size: int) -> None:
        """Announce a pause."""

    def poll(self) -> Probed | None:
        """Return the result once it is there; never blocks."""

    def cancel(self) -> None:
        """Let everybody go on."""


ProberFactory = Callable[[int, Mapping[int, Path]], Prober]
"""(incarnation, rings by rank) -> what measures them."""


@dataclass(slots=True)
class Probes:
    """One measurement after the other, of one incarnation."""

    make: ProberFactory
    price: float = PAUSE  # seconds
    _running: Prober | None = None

    @property
    def busy(self) -> bool:
        """Tell whether one is under way."""
        return self._running is not None

    def start(
        self, incarnation: int, rings: Mapping[int, Path], ranks: tuple[int, ...], links: tuple[Edge, ...]
    ) -> None:
        """Begin a measurement of ranks and links."""
        self._running = self.make(incarnation, rings)
        self._running.start(ranks, links, BYTES)

    def poll(self) -> Probed | None:
        """Return the result of the one under way once it is there."""
        result = self._running.poll() if self._running else None
        if result is not None:
            self._running = None
            self.price = max(result.pause, 0.1) if not result.failed else self.price
        return result

    def cancel(self) -> None:
        """End the one under way; training goes on."""
        if self._running is not None:
            self._running.cancel()
            self._running = None
