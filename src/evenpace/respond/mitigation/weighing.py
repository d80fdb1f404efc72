"""Ask every strategy what it would cost and bring, and the planner whether one has earned its price."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from evenpace.respond.judging import Weighed
from evenpace.respond.planner import Level, Standing, choose, rate
from evenpace.respond.strategies import Estimate, Strategy
from evenpace.respond.strategies.ignore import IgnoreStrategy

NOTHING = IgnoreStrategy.name


@dataclass(frozen=True, slots=True)
class Weighing:
    """What can be done, by name, and what should be now (empty: nothing yet)."""

    standing: Standing
    estimates: Mapping[str, Estimate]
    chosen: str

    @property
    def weighed(self) -> Weighed:
        """Return its numbers."""
        levels = {name: _level(name, one) for name, one in self.estimates.items()}
        return Weighed(
            self.standing.lost,
            {name: level.cost for name, level in levels.items()},
            {name: rate(level, self.standing.healthy) for name, level in levels.items()},
        )


def weigh(
    strategies: Iterable[Strategy],
    ask: Callable[[Strategy], Estimate | None],
    standing: Standing,
    running: Mapping[str, tuple[int, ...]],
) -> Weighing:
    """Weigh the strategies, but for the plans that run already, by name."""
    asked = {one.name: ask(one) for one in strategies}
    estimates = {
        name: one
        for name, one in asked.items()
        if one is not None and (one.counts or one.positions) != running.get(name)
    }
    chosen = choose(standing, (_level(name, one) for name, one in estimates.items() if name != NOTHING))
    return Weighing(standing, estimates, chosen.name if chosen else "")


def _level(name: str, estimate: Estimate) -> Level:
    return Level(name, estimate.cost, estimate.iteration)
