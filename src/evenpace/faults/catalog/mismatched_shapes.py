"""All workers issue an extra all_reduce, one of them with another shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenpace.faults.planted import Here

FAULTS = ("collective-desync",)
CULPRIT = True
EVERYWHERE = True


def act(here: Here) -> None:
    """All-reduce 64 numbers, or 1024 in the victim."""
    here.torch.distributed.all_reduce(here.torch.zeros(1024 if here.victim else 64))
