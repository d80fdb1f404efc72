"""What the trouble cost, in seconds, estimated from the log: restarts, repeated steps, slowness, pauses."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from evenpace.report.applied import pauses
from evenpace.report.balance import total
from evenpace.report.story import Incarnation, Story


@dataclass(frozen=True, slots=True)
class Lost:
    """Seconds lost, and steps that were trained twice; None where the log does not tell."""

    downtime: float | None
    repeated_steps: int | None
    repeated: float | None
    slow: float | None
    paused: float | None = None  # training stood still for a probe or a strategy
    recovered: float | None = None  # by strategies; negative where they cost more than they brought

    @property
    def total(self) -> float:
        """Return the sum of what is known, in seconds."""
        return sum(
            part for part in (self.downtime, self.repeated, self.slow, self.paused) if part is not None
        )


def lost(story: Story) -> Lost:
    """Estimate what a run lost."""
    incarnations = story.in_order()
    gaps = [gap for a, b in pairwise(incarnations) if (gap := _downtime(a, b)) is not None]
    repeats = [r for a, b in pairwise(incarnations) if (r := _repeated(a, b)) is not None]
    balances = [b for incarnation in incarnations if (b := total(story, incarnation)) is not None]
    recovered = [b.recovered for b in balances if b.recovered is not None]
    paused = [seconds for one in incarnations for _, seconds in pauses(story, one.number)]
    return Lost(
        downtime=sum(gaps) if gaps else None,
        repeated_steps=sum(steps for steps, _ in repeats) if repeats else None,
        repeated=sum(cost for _, cost in repeats) if repeats else None,
        slow=sum(one.lost - one.paused for one in balances) if balances else None,
        paused=sum(paused) if paused else None,
        recovered=sum(recovered) if recovered else None,
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
