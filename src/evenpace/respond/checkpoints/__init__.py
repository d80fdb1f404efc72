"""Find the newest checkpoint that is proven complete and undamaged; nothing in it is ever executed."""

from __future__ import annotations

from evenpace.respond.checkpoints.search import Checkpoint, Skipped, newest_valid
from evenpace.respond.checkpoints.setaside import set_aside

__all__ = ["Checkpoint", "Skipped", "newest_valid", "set_aside"]
