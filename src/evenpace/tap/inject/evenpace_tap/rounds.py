"""What the tap's threads do again and again: a round that fails does not end the thread."""

from __future__ import annotations

from collections.abc import Callable

from .ring import Ring

MOST_FAILURES = 10  # in a row


class Rounds:
    """One round at a time; after MOST_FAILURES in a row none any more, and the ring says so."""

    def __init__(self, ring: Ring, what: str, action: Callable[[], object]) -> None:
        self._ring = ring
        self._what = what
        self._action = action
        self._failures = 0

    @property
    def ended(self) -> bool:
        """Tell whether it has been given up."""
        return self._failures >= MOST_FAILURES

    def go(self) -> object:
        """Do one round, unless it has been given up; return what it returned, None where it failed."""
        if self.ended:
            return None
        try:
            done = self._action()
        except Exception as error:
            self._failures += 1
            if self.ended:
                self._ring.note(self._what, f"{self._what} has stopped: {error!r}")
            return None
        self._failures = 0
        return done
