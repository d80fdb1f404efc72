"""What the trouble cost, in seconds: restarts, repeated steps, slow iterations. Estimates from the log."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from evenpace.report.story import Incarnation, Raised, Story


@dataclass(frozen=True, slots=True)
class Lost:
    """Seconds lost, and steps that were trained twice; None where the log does not tell."""

    downtime: float | None
    repeated_steps: int | None
    repeated: float | None
    slow: float | None

    @property
    def total(self) -> float:
        """Return the sum of what is known, in seconds."""
        return sum(part for part in (self.downtime, self.repeated, self.slow) if part is not None)


def lost(story: Story) -> Lost:
    """Estimate what a run lost."""
    incarnations = story.in_order()
    gaps = [gap for a, b in pairwise(incarnations) if (gap := _downtime(a, b)) is not None]
    repeats = [r for a, b in pairwise(incarnations) if (r := _repeated(a, b)) is not None]
    slow = [s for incarnation in incarnations if (s := _slow(story, incarnation)) is not None]
    return Lost(
        downtime=sum(gaps) if gaps else None,
        repeated_steps=sum(steps for steps, _ in repeats) if repeats else None,
        repeated=sum(cost for _, cost in repeats) if repeats else None,
        slow=sum(slow) if slow else None,
    )


def _downtime(before: Incarnation, after: Incarnation) -> float | None:
    """Return seconds from the last iteration of one incarnation to the start of the first of the next."""
    stop = before.iterations.last_time() or before.ended
    go = after.iterations.first_time()
    if stop is None or go is None:
        return None
    return max(go - float(after.iterations.durations[0]) - stop, 0.0)


def _repeated(before: Incarnation, after: Incarnation) -> tuple[int, float] | None:
    """Return steps done twice and their seconds, where an iteration is a step and both starts are known."""
    highest = before.iterations.highest()
    if highest is None or after.step is None:
        return None
    steps = (before.step or 0) + highest + 1 - after.step
    if not 0 <= steps <= highest + 1:
        return None
    return steps, steps * float(np.median(before.iterations.durations))


def under(incarnation: Incarnation, raised: Raised) -> NDArray[np.bool_]:
    """Return which iterations of the log lie between a finding's onset and its end."""
    numbers = incarnation.iterations.numbers
    if raised.iteration is None or raised.incarnation != incarnation.number:
        return np.zeros(len(numbers), dtype=np.bool_)
    last = np.inf if raised.closed_iteration is None else raised.closed_iteration
    return np.asarray((numbers >= raised.iteration) & (numbers < last))


def _slow(story: Story, incarnation: Incarnation) -> float | None:
    """Return seconds above the median before the first onset, over the iterations under any finding."""
    masks = [mask for f in story.findings.values() if (mask := under(incarnation, f)).any()]
    if not masks:
        return None
    slow = np.logical_or.reduce(masks)
    first = int(np.argmax(slow))
    if first == 0:  # slow from the start: no healthy iteration to compare with
        return None
    durations = incarnation.iterations.durations
    return float(np.maximum(durations[slow] - np.median(durations[:first]), 0.0).sum())
