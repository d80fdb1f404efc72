"""A plan on its way to the loop, and one that is in force."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from evenpace.respond.mitigation.announcing import announce, announced
from evenpace.respond.mitigation.episode import Suspicion
from evenpace.respond.mitigation.loop import Loop
from evenpace.respond.strategies import Cause, Edge, Estimate
from evenpace.terms import say
from evenpace.watch.events import Adapted

PATIENCE = 60.0  # seconds for every rank to put an announced plan in force,
ENOUGH = 10  # and iterations: those of a large job take long, and a plan is for the second after it is known
HELPED = 0.97  # of the iteration before: what is not below it did not help
JUDGED_AFTER = 8  # iterations under a plan
_MOST_DOUBLINGS = 10
PROBE_AGAIN = 30.0  # seconds until a cause that only a pause can show is looked at again; then twice that
LONGEST_AGAIN = 600.0


@dataclass(frozen=True, slots=True)
class Applying:
    """A plan that was announced; `action` is apply or revert, `deadline` monotonic seconds.

    `last` is the iteration until which every rank must have it in force, `unsaid` why it was not announced.
    """

    strategy: str
    action: str
    estimate: Estimate
    version: int
    deadline: float
    last: int
    unsaid: str = ""

    def settled(self, loop: Loop, now: float, newest: int, lang: str) -> str | None:
        """Return "" where the plan is in force on every rank, why not where it is too late, else None.

        `newest` is the number of the last iteration.
        """
        if self.unsaid:
            return say("applying-unsaid", lang, error=self.unsaid)
        if loop.in_force(self.version):
            return ""
        if now < self.deadline or newest < self.last:
            return None
        return say("applying-late", lang, seconds=round(now - self.deadline + PATIENCE))

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


def apply(  # noqa: PLR0913, PLR0917
    strategy: str, action: str, estimate: Estimate, loop: Loop, now: float, newest: int
) -> Applying:
    """Announce a plan to the loop's rank 0, under a version that no plan before it had."""
    version = max(loop.version, announced(loop.rings[0])) + 1
    applying = Applying(strategy, action, estimate, version, now + PATIENCE, newest + ENOUGH)
    try:
        announce(loop.rings[0], version, estimate)
    except OSError as error:
        return replace(applying, unsaid=error.strerror or str(error))
    return applying


@dataclass(slots=True)
class InForce:
    """A strategy that is in force since iteration `since`; `before` is the seconds of one without it.

    `after` is that with it, once it is known. `plan` is its counts or positions, `suspicion` whom it is for,
    `links` how slow those links are, and `candidates` what could have been slow instead.
    """

    strategy: str
    plan: tuple[int, ...]
    before: float
    since: int
    suspicion: Suspicion
    links: Mapping[Edge, float] = field(default_factory=dict)
    candidates: tuple[Edge, ...] = ()
    calm_since: float | None = None  # monotonic seconds: nobody has been slow from then on
    after: float | None = None
    stuck: int = 0  # times that it could not be taken back
    _helped: bool = False
    _probe_at: float = 0.0
    _again: float = PROBE_AGAIN

    @property
    def _longer(self) -> int:
        """Return how many times longer to wait after it could not be taken back."""
        return 1 << min(self.stuck, _MOST_DOUBLINGS)

    def useless(self, latest: float | None, iterations: int) -> bool:
        """Tell whether it has been in force for long enough to say that it does not help.

        Once it has helped, a job that gets slower again has another reason.
        """
        enough = JUDGED_AFTER * self._longer
        if latest is None or iterations < enough or self._helped:
            return False
        self.after = latest
        self._helped = latest <= HELPED * self.before
        return not self._helped

    def calm(self, slow: bool, now: float, hold: float) -> bool:
        """Tell whether nobody has been slow for `hold` seconds, longer where it could not be taken back."""
        if slow:
            self.calm_since = None
        elif self.calm_since is None:
            self.calm_since = now
        return self.calm_since is not None and now - self.calm_since >= hold * self._longer

    def by_probe(self, loop: Loop) -> bool:
        """Tell whether only a pause can show that the cause is gone."""
        return self.suspicion.cause is Cause.LINK or not loop.factors()

    def probe_due(self, now: float) -> bool:
        """Tell whether it is time to look at the cause again; waits longer each time."""
        if not self._probe_at:
            self._probe_at = now + self._again
        if now < self._probe_at:
            return False
        self._again = min(LONGEST_AGAIN, 2 * self._again)
        self._probe_at = now + self._again
        return True
