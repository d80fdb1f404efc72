"""Ask every strategy what it would cost and bring, and the planner whether one has earned its price."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from evenpace.respond.judging import Weighed
from evenpace.respond.planner import Level, Standing, choose, rate
from evenpace.respond.strategies import Estimate, Job, Strategy, Trouble
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


def weigh(  # noqa: PLR0913, PLR0917 - one argument for each part
    strategies: Iterable[Strategy],
    trouble: Trouble,
    job: Job,
    standing: Standing,
    left_out: Collection[str] = (),
    running: Estimate | None = None,
) -> Weighing:
    """Weigh the strategies but those left out, and but for the very plan that is running."""
    asked = {one.name: one.estimate(trouble, job) for one in strategies if one.name not in left_out}
    estimates = {name: one for name, one in asked.items() if one is not None and not _same(one, running)}
    chosen = choose(standing, (_level(name, one) for name, one in estimates.items() if name != NOTHING))
    return Weighing(standing, estimates, chosen.name if chosen else "")


def _same(one: Estimate, running: Estimate | None) -> bool:
    plan = one.counts or one.positions
    return bool(plan) and running is not None and plan == (running.counts or running.positions)


def _level(name: str, estimate: Estimate) -> Level:
    return Level(name, estimate.cost, estimate.iteration)
