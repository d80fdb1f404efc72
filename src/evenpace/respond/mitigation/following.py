"""Follow a run's events as far as its pace is concerned: the episode, its loss, since when it is as it is."""

from __future__ import annotations

from dataclasses import dataclass, field

from evenpace.respond.mitigation.episode import Episode, surplus
from evenpace.respond.mitigation.pace import Pace, duration
from evenpace.respond.policy import is_pace
from evenpace.watch.events import (
    Event,
    FindingClosed,
    FindingRaised,
    IncarnationStarted,
    Iteration,
    Narrowed,
    seconds,
)


@dataclass(slots=True)
class Following:
    """One incarnation. `since` is the iteration from which the present plan is in force."""

    pace: Pace = field(default_factory=Pace)
    episode: Episode | None = None
    since: int = 0
    started_in: float | None = None  # seconds from the start to the first iteration
    _began: float | None = None  # epoch seconds
    _newest: int = -1
    _narrowed: Narrowed | None = None

    def hear(self, event: Event) -> bool:
        """Take in an event; tell whether it begins another incarnation, for which a new one is needed."""
        match event:
            case IncarnationStarted():
                fresh, self._began = self._began is None, seconds(event.time)
                return not fresh
            case Iteration():
                self._iterated(event)
            case Narrowed():
                self._narrowed = event
                if self.episode is not None:
                    self.episode.narrowed = event
            case FindingRaised() if is_pace(event.finding):
                self._raised(event)
            case FindingClosed() if self.episode and event.id == self.episode.raised.id:
                self.episode.over = True
        return False

    def now(self) -> float | None:
        """Return the time of an iteration now, in seconds."""
        onset = self.episode.onset if self.episode and not self.episode.over else 0
        return self.pace.latest(max(self.since, onset))

    def iterations(self) -> int:
        """Return how many iterations there were under the present plan, of this episode."""
        onset = self.episode.onset if self.episode and not self.episode.over else 0
        return self.pace.count(max(self.since, onset))

    def plan_changed(self, pause: float) -> None:
        """Begin to count anew from here; the pause in seconds is lost."""
        self.since = self._newest + 1
        if self.episode is not None:
            self.episode.lost = 0.0
            self.episode.total += pause

    def forget_over(self) -> None:
        """Drop an episode that is over."""
        if self.episode is not None and self.episode.over:
            self.episode = None

    def _iterated(self, event: Iteration) -> None:
        self.pace.add(event)
        self._newest = max(self._newest, event.iteration)
        if self.started_in is None and self._began is not None:
            self.started_in = max(0.0, seconds(event.time) - self._began)
        if self.episode is not None and not self.episode.over:
            self.episode.lose(duration(event))

    def _raised(self, event: FindingRaised) -> None:
        if self.episode is not None and self.episode.raised.id == event.id:
            self.episode.raised, self.episode.over = event, False
            return
        onset = event.iteration if event.iteration is not None else self._newest
        healthy = self.pace.before(onset)
        now = self.pace.latest(onset)
        if now is not None and (healthy is None or event.finding.phrase == "slow-worker-from-start"):
            healthy = max(now - surplus(event.finding), now / 2)
        if healthy is None:
            return
        if self.episode is not None:  # a plan is in force, and was when the pace before was measured
            healthy = min(healthy, self.episode.healthy)
        self.episode = Episode(event, onset, healthy, narrowed=self._narrowed)
        self.episode.lost = self.episode.total = self.pace.lost(onset, healthy)
