"""All workers die of the same exception: the software is at fault, no worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenpace.faults.planted import Here

FAULTS = ("user-code-exception",)
CULPRIT = False
EVERYWHERE = True


def act(here: Here) -> None:
    """Raise the same in every rank."""
    raise ValueError(f"no schedule for step {here.spec.step} (planted fault)")
