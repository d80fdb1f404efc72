"""Carry the count of iterations over from one watcher to the next.

A watcher that reads the rings again begins its count at the oldest iteration that they still hold. What the
log knows already is told apart by time, and what is new goes on with the log's count.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from evenpace.watch.events import FindingClosed, FindingRaised, Iteration, seconds

SAME = 0.5  # of an iteration: what begins that close to a known one is it


@dataclass(slots=True)
class Continuity:
    """Hold the last iteration of the log, and what to add to the watcher's count."""

    last: int = -1
    shift: int = 0
    repeating: bool = False  # the watcher is still telling what the log knows
    _begun: float = float("-inf")

    def remember(self, event: Iteration) -> None:
        """Take an iteration that is in the log."""
        self.last = event.iteration
        self._begun = seconds(event.time) + SAME * min(event.durations, default=0.0)

    def follow(self, event: Iteration) -> Iteration | None:
        """Return a watcher's iteration as it goes into the log; None where the log has it."""
        self.repeating = seconds(event.time) <= self._begun
        if self.repeating:
            return None
        if event.iteration + self.shift <= self.last:
            self.shift = self.last + 1 - event.iteration
        return replace(event, iteration=event.iteration + self.shift)

    def place(self, event: FindingRaised | FindingClosed) -> FindingRaised | FindingClosed:
        """Return a finding with its iteration in the log's count."""
        return event if event.iteration is None else replace(event, iteration=event.iteration + self.shift)
