"""Follow a run's events as far as its pace is concerned: the episode, its loss, what is in force.

A log that is read again gives the same as living it, so a run can be attached to.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from evenpace.findings import Finding
from evenpace.respond.mitigation.applying import InForce
from evenpace.respond.mitigation.episode import HEALTHY, LOST, Episode, Suspicion, Whom, slowed, told
from evenpace.respond.mitigation.pace import Pace, duration, sound
from evenpace.respond.policy import is_pace
from evenpace.respond.strategies import Cause
from evenpace.watch.events import (
    Adapted,
    Event,
    FindingClosed,
    FindingRaised,
    IncarnationStarted,
    Iteration,
    Narrowed,
    Probed,
    seconds,
)

REFUSED = 500  # iterations
MOST_CHANGES = 16


@dataclass(slots=True)
class Following:
    """One incarnation. Nothing was changed from iteration `since` on; `probed` is the last measurement."""

    pace: Pace = field(default_factory=Pace)
    episode: Episode | None = None
    in_force: dict[str, InForce] = field(default_factory=dict)
    since: int = 0
    started_in: float | None = None  # seconds from the start to the first iteration
    probed: Probed | None = None
    newest: int = -1  # iteration
    _began: float | None = None  # epoch seconds
    _narrowed: Narrowed | None = None
    pauses: dict[str, float] = field(default_factory=dict)  # seconds that a strategy's last change took
    _changes: dict[str, int] = field(default_factory=dict)
    _refused: dict[tuple[str, Whom | None], int] = field(default_factory=dict)  # until which iteration

    def hear(self, event: Event) -> bool:
        """Take in an event; tell whether it begins another incarnation, for which a new one is needed."""
        match event:
            case IncarnationStarted():
                fresh, self._began = self._began is None, seconds(event.time)
                return not fresh
            case Iteration() if sound(event):
                self._iterated(event)
            case Narrowed():
                self._narrowed = event
                if self.episode is not None:
                    self.episode.narrowed = event
            case Probed():
                self._measured(event)
            case FindingRaised() if is_pace(event.finding):
                self._raised(event)
            case FindingClosed() if self.episode:
                self.episode.close(event.id)
            case Adapted():
                self._adapted(event)
        return False

    @property
    def open(self) -> Episode | None:
        """Return the episode that is not over."""
        return self.episode if self.episode and not self.episode.over else None

    def now(self) -> float | None:
        """Return the time of an iteration now, in seconds."""
        return self.pace.latest(self._from())

    def iterations(self) -> int:
        """Return how many iterations there were since the last change, of this episode."""
        return self.pace.count(self._from())

    def without(self, strategy: str) -> float | None:
        """Return the time of an iteration as it would be without that strategy, in seconds."""
        force, now = self.in_force.get(strategy), self.now()
        if force is None or now is None or force.after is None:
            return force.before if force else now
        return now + max(0.0, force.before - force.after)

    def changed(self, strategy: str) -> int:
        """Return how often a strategy's plan was announced in this episode, since it was last taken back.

        Each time must be worth twice as much: a plan that follows every mood of the machine helps nobody.
        """
        return min(self._changes.get(strategy, 0), MOST_CHANGES)

    def refuse(self, strategy: str, against: Suspicion | None = None) -> None:
        """Leave a strategy alone for long: it failed, or it does not help `against` these ranks or links."""
        self._refused[strategy, against.whom if against else None] = self.newest + REFUSED

    def refused(self, against: Suspicion) -> set[str]:
        """Return the strategies to be left alone now."""
        now = {key for key, until in self._refused.items() if self.newest < until}
        return {strategy for strategy, whom in now if whom in (None, against.whom)}

    def _from(self) -> int:
        return max(self.since, self.open.onset if self.open else 0)

    def _iterated(self, event: Iteration) -> None:
        self.pace.add(event)
        self.newest = max(self.newest, event.iteration)
        if self.started_in is None and self._began is not None:
            self.started_in = max(0.0, seconds(event.time) - self._began)
        if self.open is not None:
            self.open.lose(duration(event))

    def _raised(self, event: FindingRaised) -> None:
        if self.episode is not None and self.episode.take(event):
            return
        onset = event.iteration if event.iteration is not None else self.newest
        healthy = told(event.finding, HEALTHY) or self._healthy_before(onset, event.finding)
        if not healthy:
            return
        self._changes.clear()
        self.episode = Episode(event, onset, healthy, narrowed=self._narrowed)
        self.episode.lost = self.episode.total = self.pace.lost(onset, healthy)

    def _healthy_before(self, onset: int, finding: Finding) -> float | None:
        """Return the time of a healthy iteration, where the finding does not say it."""
        healthy, now = self.pace.before(onset), self.pace.latest(onset)
        if now is not None and (healthy is None or finding.phrase == "slow-worker-from-start"):
            healthy = max(now - told(finding, LOST), now / 2)
        if healthy and self.episode is not None and self.in_force:  # the pace before was that under a plan
            healthy = min(healthy, self.episode.healthy)
        return healthy

    def _measured(self, event: Probed) -> None:
        self.probed = event
        if self.open is not None:
            told = bool(event.slow_ranks or event.slow_links)
            self.open.probed = event if told or not event.failed else None
            self.open.total += event.pause

    def _adapted(self, event: Adapted) -> None:
        before = self.without(event.strategy)
        if event.failed:
            self.refuse(event.strategy)
            self._stuck(event)
            return
        self.pauses[event.strategy] = event.pause
        self.since = self.newest + 1
        if self.episode is not None:
            self.episode.lost = 0.0
            self.episode.total += event.pause
        if event.action == "revert":
            self._changes.pop(event.strategy, None)
            self.in_force.pop(event.strategy, None)
            self._forget_over()
            return
        self._changes[event.strategy] = self._changes.get(event.strategy, 0) + 1
        plan = tuple(event.counts or event.positions)
        suspicion = self.episode.suspicion() if self.episode else Suspicion(Cause.UNCLEAR)
        links = self._slow_links(suspicion)
        candidates = tuple(self.episode.narrowed.links) if self.episode and self.episode.narrowed else ()
        self.in_force[event.strategy] = InForce(
            event.strategy, plan, before or 0.0, self.since, suspicion, links, candidates
        )
        self.probed = None  # only what is measured from now on can show that the cause is gone

    def _stuck(self, event: Adapted) -> None:
        """Wait before a plan that could not be taken back is tried to be again, longer each time."""
        force = self.in_force.get(event.strategy)
        if force is not None and event.action == "revert":
            self.since, force.calm_since, force.stuck = self.newest + 1, None, force.stuck + 1

    def _slow_links(self, suspicion: Suspicion) -> dict[tuple[int, int], float]:
        """Return the links that are known to be slow; not those of which one is."""
        measured = slowed(self.probed.links) if self.probed else {}
        return {link: measured.get(link, 2.0) for link in suspicion.links} if suspicion.sure else {}

    def _forget_over(self) -> None:
        if self.episode is not None and self.episode.over and not self.in_force:
            self.episode = None
