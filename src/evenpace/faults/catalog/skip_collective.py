"""All workers but one issue an extra all_reduce: the one that skips it runs out of step."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenpace.faults.planted import Here

FAULTS = ("collective-desync",)
CULPRIT = True
EVERYWHERE = True


def act(here: Here) -> None:
    """Join the extra all_reduce, unless this is the victim."""
    if not here.victim:
        here.torch.distributed.all_reduce(here.torch.zeros(64))
