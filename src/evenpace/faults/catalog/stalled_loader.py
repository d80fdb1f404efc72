"""A worker whose data loader does not deliver the next batch."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenpace.faults.planted import Here

FAULTS = ("data-loader", "non-communication-hang")
CULPRIT = True
EVERYWHERE = False
STALL = 3600.0  # seconds


def act(here: Here) -> None:
    """Let the next fetch of any DataLoader in this process wait for its storage."""
    fetcher = here.torch.utils.data._utils.fetch._MapDatasetFetcher
    fetch = fetcher.fetch

    def stalled(self: object, batch: object) -> object:
        time.sleep(STALL)
        return fetch(self, batch)

    fetcher.fetch = stalled
