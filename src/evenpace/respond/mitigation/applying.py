"""A plan on its way to the loop, and one that is in force."""

from __future__ import annotations

from dataclasses import dataclass

from evenpace.respond.mitigation.announcing import announce
from evenpace.respond.mitigation.loop import Loop
from evenpace.respond.strategies import Estimate
from evenpace.watch.events import Adapted

PATIENCE = 60.0  # seconds for every rank to put an announced plan in force
HELPED = 0.97  # of the iteration before: what is not below it did not help
JUDGED_AFTER = 8  # iterations under a plan


@dataclass(frozen=True, slots=True)
class Applying:
    """A plan that was announced; `action` is apply or revert, `deadline` monotonic seconds.

    `before` is the iteration time without any plan, in seconds.
    """

    strategy: str
    action: str
    estimate: Estimate
    version: int
    deadline: float
    before: float

    def settled(self, loop: Loop, now: float) -> str | None:
        """Return "" where the plan is in force on every rank, why not where it is too late, else None."""
        if loop.in_force(self.version):
            return ""
        return f"not in force on every rank after {PATIENCE:.0f} s" if now >= self.deadline else None

    def event(self, loop: Loop, failed: str, incarnation: int, time: str) -> Adapted:
        """Return what goes into the event log."""
        return Adapted(
            time=time,
            incarnation=incarnation,
            strategy=self.strategy,
            action=self.action,
            step=0 if failed else loop.plan_step,
            pause=0.0 if failed else round(loop.plan_pause, 3),
            counts=list(self.estimate.counts),
            positions=list(self.estimate.positions),
            failed=failed,
        )


def apply(  # noqa: PLR0913, PLR0917 - one argument for each part
    strategy: str, action: str, estimate: Estimate, loop: Loop, now: float, before: float
) -> Applying:
    """Announce a plan to the loop's rank 0; raises OSError."""
    applying = Applying(strategy, action, estimate, loop.version + 1, now + PATIENCE, before)
    announce(loop.rings[0], applying.version, estimate)
    return applying


@dataclass(slots=True)
class InForce:
    """A strategy that is in force since iteration `since`; `before` is the iteration time without it."""

    strategy: str
    estimate: Estimate
    before: float
    since: int
    calm_since: float | None = None  # monotonic seconds: nobody has been slow from then on

    def useless(self, latest: float | None, iterations: int) -> bool:
        """Tell whether it has been in force for long enough to say that it does not help."""
        return latest is not None and iterations >= JUDGED_AFTER and latest > HELPED * self.before

    def calm(self, slow: bool, now: float, hold: float) -> bool:
        """Tell whether nobody has been slow for `hold` seconds, now looked at again."""
        if slow:
            self.calm_since = None
        elif self.calm_since is None:
            self.calm_since = now
        return self.calm_since is not None and now - self.calm_since >= hold
