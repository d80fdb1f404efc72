"""A worker that waits for something of its own in a Python loop and never reaches the next collective."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenpace.faults.planted import Here

FAULTS = ("non-communication-hang",)
CULPRIT = True
EVERYWHERE = False


def act(here: Here) -> None:
    """Never return."""
    while here.victim:
        time.sleep(0.01)
