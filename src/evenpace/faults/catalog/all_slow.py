"""All workers get slower at once, as by a shared file system: no worker is to blame."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenpace.faults.planted import Here

FAULTS = ("slow-throughput",)
CULPRIT = False
EVERYWHERE = True
FACTOR = 2.0


def act(here: Here) -> None:
    """From now on add to each step what a step takes."""
    extra = (FACTOR - 1) * here.step_seconds
    here.each_step = lambda: time.sleep(extra)
