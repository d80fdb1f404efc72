"""Time as an argument."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from evenpace.watch.events import stamp


@dataclass(frozen=True, slots=True)
class Clock:
    """Give the wall clock (epoch seconds), a monotonic clock (seconds) and sleep."""

    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def stamp(self) -> str:
        """Return the wall clock as the `time` of an event."""
        return stamp(self.wall())
