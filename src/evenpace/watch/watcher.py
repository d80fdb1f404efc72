"""The watcher: one incarnation's rings and logs in, events and findings out. (Contract; under construction.)"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from evenpace.watch.events import Event


class Watching(Protocol):
    """What the supervisor needs of a watcher. One per incarnation: nothing of the last one decides about the next."""

    def poll(self) -> list[Event]:
        """Look once at all rings, processes and logs; return what is new, in order. Call it about five times a second."""

    def agent_exited(self, node: str, exit_code: int | None) -> None:
        """Tell that a node's agent ended (the launcher knows first); None where the code cannot be known."""

    def settled(self) -> bool:
        """Tell whether every worker that joined has ended and been judged: nothing more will be said."""


WatcherFactory = Callable[[int, Path, dict[str, Path]], Watching]
"""(incarnation, folder of rings, log file by node) -> a watcher."""
