"""A worker that dies of an exception of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenpace.faults.planted import Here

FAULTS = ("user-code-exception",)
CULPRIT = True
EVERYWHERE = False


def act(here: Here) -> None:
    """Raise in the victim."""
    raise ValueError(f"unreadable sample on rank {here.rank} (planted fault)")
