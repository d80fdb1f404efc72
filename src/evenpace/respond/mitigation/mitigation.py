"""Weigh what can be done about a slow job, do it where the policy lets us, and take it back when it is over.

The supervisor calls `look` a few times a second; nothing here blocks, and a failure here ends the mitigation
and not the training.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evenpace.respond.judging import Act, Weighed, decision
from evenpace.respond.mitigation.applying import JUDGED_AFTER, Applying, InForce, apply
from evenpace.respond.mitigation.episode import Episode, Whom
from evenpace.respond.mitigation.following import Following
from evenpace.respond.mitigation.loop import Loop, look, ring_of
from evenpace.respond.mitigation.price import restart_verdict
from evenpace.respond.mitigation.probes import ProberFactory, Probes
from evenpace.respond.mitigation.view import SLOW, View
from evenpace.respond.mitigation.weighing import NOTHING, Weighing, weigh
from evenpace.respond.parts import Parts
from evenpace.respond.planner import Standing
from evenpace.respond.policy import Verdict
from evenpace.respond.strategies import Edge, Estimate, Strategy
from evenpace.respond.strategies.catalogue import strategies
from evenpace.watch.events import Event, FindingRaised

EVERY = 0.5  # seconds between two looks
HOLD = 3.0  # seconds without a slow rank before a plan is taken back; twice that after each relapse:
RELAPSE = 10  # times that, within which the same trouble has come back
LONGEST_HOLD = 60.0
MEASURED_AFTER = 30  # healthy iterations
RESTS = 10  # times as long as weighing took: a search over many positions must not hold up the rest
NEW = 16  # iterations after its onset in which a trouble comes before what is over
SETTLED = 3  # iterations after a change before the pace is judged


class Mitigation:
    """Care for the pace of a run, incarnation after incarnation."""

    def __init__(self, parts: Parts, prober: ProberFactory) -> None:
        self._parts = parts
        self._recorder = parts.recorder
        self._prober = prober
        self._strategies: dict[str, Strategy] = {one.name: one for one in strategies()}
        self._looked = 0.0
        self._broken = False
        self._reset()

    def _reset(self) -> None:
        self._following = Following()
        self._probes = Probes(self._prober)
        self._applying: Applying | None = None
        self._late: Applying | None = None  # given up, but may still come to be in force
        self._hold = HOLD
        self._relieved_of: tuple[Whom, float] | None = None  # and when, monotonic seconds
        self._weigh_at = 0.0  # monotonic seconds
        self._loop = Loop({})

    def hear(self, event: Event) -> None:
        """Take in one event of the run, or of its log. Never raises."""
        if self._broken:
            return
        try:
            if self._following.hear(event):
                self._probes.cancel()
                self._reset()
                self._following.hear(event)
            if isinstance(event, FindingRaised):
                self._looked = -EVERY  # look at it at once
        except Exception as error:
            self._fail(error)

    def look(self) -> Act | None:
        """Do what is due; return a restart that has earned its price. Never raises."""
        now = self._parts.clock.monotonic()
        if self._broken or now - self._looked < EVERY:
            return None
        self._looked = now
        try:
            return self._look(now)
        except Exception as error:
            self._fail(error)
            return None

    def _fail(self, error: Exception) -> None:
        """Do nothing any more: what was not understood is no ground to act on."""
        self._broken = True
        self._probes.cancel()
        reason = f"{type(error).__name__}: {error}"
        self._parts.say_degraded(self._incarnation, "degraded-mitigation", error=reason)

    def _look(self, now: float) -> Act | None:
        if self._probes.busy:
            self._take_probe()
        elif self._concerned:
            self._loop = look(self._rings())
            if self._loop.complete:
                return self._care(now)
        return None

    @property
    def _concerned(self) -> bool:
        """Tell whether there is anything to look after: slowness, a plan, or a job to be measured."""
        plans = self._following.in_force or self._applying or self._late
        return bool(self._following.open or plans) or self._unmeasured()

    def _care(self, now: float) -> Act | None:
        """Do the one thing that is due now, of a job whose workers are all in sight."""
        following = self._following
        if self._applying is not None:
            self._settle(self._applying, now)
        elif self._late is not None and self._loop.in_force(self._late.version):
            self._settle(self._late, now)
        elif self._unmeasured():
            self._measure(healthy=True)
        elif any(self._take_back(force, now) for force in self._ours()):
            pass
        elif following.open is not None:
            return self._weigh(following.open, now)
        return None

    @property
    def _incarnation(self) -> int:
        started = self._recorder.ledger.started
        return started.incarnation if started else 0

    @property
    def _policy(self) -> str:
        run = self._recorder.ledger.run
        return run.policy if run else "observe"

    def _rings(self) -> dict[int, Path]:
        ledger = self._recorder.ledger
        folder = Path(ledger.started.rings) if ledger.started else Path()
        return {rank: ring_of(folder, worker) for rank, worker in ledger.workers.items()}

    # --- plans ---

    def _settle(self, applying: Applying, now: float) -> None:
        """Record that a plan has taken effect, or that it did not."""
        failed = applying.settled(self._loop, now, self._following.newest, self._parts.lang)
        if failed is not None:
            self._applying, self._late = None, applying if failed else None
            time = self._parts.clock.stamp()
            self._recorder.write(applying.event(self._loop, failed, self._incarnation, time))

    def _ours(self) -> list[InForce]:
        """Return what is in force that may be taken back: nothing where the policy only observes."""
        forces = self._following.in_force.values() if self._policy != "observe" else ()
        return [force for force in forces if force.strategy in self._strategies]

    def _take_back(self, force: InForce, now: float) -> bool:
        """Take a plan back where nobody is slow any more, or where it does not help; tell whether it was."""
        iterations = self._following.iterations()
        if self._is_for(force) and force.useless(self._following.now(), iterations):
            self._following.refuse(force.strategy, force.suspicion)
            return self._revert(force, "decision-useless", now)
        unrest = self._following.pace.unrest() or self._is_another_new(force)
        if iterations < SETTLED or unrest or not self._relieved(force, now):
            return False
        self._relieved_of = force.suspicion.whom, now
        return self._revert(force, "decision-relieved", now)

    def _is_for(self, force: InForce) -> bool:
        """Tell whether a plan is for the present trouble: by another one it is not judged."""
        episode = self._following.open
        return episode is None or episode.suspicion().whom == force.suspicion.whom

    def _is_another_new(self, force: InForce) -> bool:
        """Tell whether another trouble has just begun: a cure for it comes first."""
        episode = self._following.open
        new = episode is not None and self._following.newest - episode.onset < NEW
        return new and not self._is_for(force)

    def _hold_on(self, episode: Episode, now: float) -> None:
        """Wait longer with taking a plan back where the same trouble has soon come back."""
        whom, when = self._relieved_of or (None, 0.0)
        relapse = whom == episode.suspicion().whom and now - when < RELAPSE * self._hold
        self._hold = min(LONGEST_HOLD, 2 * self._hold) if relapse else HOLD

    def _relieved(self, force: InForce, now: float) -> bool:
        """Tell whether what a strategy is for is over; have it measured where only a pause can show it."""
        if not force.by_probe(self._loop):
            slow = any(factor >= SLOW for factor in self._loop.factors().values())
            return force.calm(slow, now, self._hold)
        if self._back(force) is None:
            return False
        probed, self._following.probed = self._following.probed, None
        if probed is not None and not probed.failed:
            return not (probed.slow_ranks or probed.slow_links)
        if force.probe_due(now):
            self._measure(force.candidates, healthy=True)
        return False

    def _back(self, force: InForce) -> Estimate | None:
        """Return what taking a plan back means; None where it would gain nothing."""
        return self._strategies[force.strategy].healthy(self._view().job(None))

    def _revert(self, force: InForce, phrase: str, now: float) -> bool:
        back = self._back(force)
        episode = self._following.episode
        lost = Weighed(episode.lost if episode else 0.0)
        if back is None:
            del self._following.in_force[force.strategy]
            self._decide("none", "decision-kept", force.strategy, episode, lost)
            return False
        self._decide("revert", phrase, force.strategy, episode, lost)
        self._applying = apply(force.strategy, "revert", back, self._loop, now, self._following.newest)
        return True

    # --- weighing ---

    def _view(self) -> View:
        return View(self._following, self._loop, self._recorder.ledger, self._parts.clock.wall())

    def _weigh(self, episode: Episode, now: float) -> Act | None:
        latest = self._following.now()
        forces = self._following.in_force.values()
        running = {force.strategy: force.plan for force in forces}
        enough = JUDGED_AFTER if any(force.since > episode.onset for force in forces) else SETTLED
        if latest is None or now < self._weigh_at or self._following.iterations() < enough:
            return None
        standing = Standing(episode.healthy, latest, episode.lost)
        refused = self._following.refused(episode.suspicion())
        asked = [one for one in self._strategies.values() if one.name not in refused]
        began = self._parts.clock.monotonic()
        weighing = weigh(asked, self._view().weighed(episode), standing, running)
        took = self._parts.clock.monotonic() - began
        self._weigh_at = now + RESTS * took
        if weighing.chosen:
            return self._act(episode, weighing, now)
        self._tell_waiting(episode, weighing)
        self._probe_suspects(episode)
        return None

    def _act(self, episode: Episode, weighing: Weighing, now: float) -> Act | None:
        name = weighing.chosen
        if name == "restart":
            verdict = restart_verdict(episode.finding, self._recorder.ledger)
            if self._policy == "restart" and verdict is not None:
                return Act(verdict, episode.raised.id, name, weighing.weighed)
            self._tell_once(episode, "would-restart", "decision-worth", name, weighing.weighed)
        elif self._policy == "observe":
            self._tell_once(episode, "would-adapt", "decision-worth", name, weighing.weighed)
        else:
            self._decide("adapt", "decision-worth", name, episode, weighing.weighed)
            self._hold_on(episode, now)
            self._applying = apply(
                name, "apply", weighing.estimates[name], self._loop, now, self._following.newest
            )
        return None

    def _tell_waiting(self, episode: Episode, weighing: Weighing) -> None:
        if not self._following.in_force:
            others = [name for name in weighing.estimates if name != NOTHING]
            phrase = "decision-wait" if others else "decision-no-strategy"
            self._tell_once(episode, "none", phrase, NOTHING, weighing.weighed)

    def _tell_once(self, episode: Episode, action: str, phrase: str, strategy: str, weighed: Weighed) -> None:
        key = f"{action} {phrase} {strategy}"
        if key not in episode.told:
            episode.told.add(key)
            self._decide(action, phrase, strategy, episode, weighed)

    def _decide(
        self, action: str, phrase: str, strategy: str, episode: Episode | None, weighed: Weighed
    ) -> None:
        verdict = Verdict(action, phrase, {"strategy": strategy})
        cause = Act(verdict, episode.raised.id if episode else None, strategy, weighed)
        self._recorder.write(decision(cause, self._incarnation, self._parts))

    # --- probes ---

    def _unmeasured(self) -> bool:
        """Tell whether the healthy job is to be measured: once, where the policy may pause it at all."""
        return (
            self._policy != "observe"
            and not self._probes.begun
            and self._following.episode is None
            and self._following.iterations() >= MEASURED_AFTER
        )

    def _probe_suspects(self, episode: Episode) -> None:
        """Have the suspects measured, once their slowness has cost as much as the pause."""
        if self._policy == "observe" or episode.settled or episode.lost < self._probes.price:
            return
        if not episode.suspicion().sure or self._policy == "restart":
            self._measure(episode.narrowed.links if episode.narrowed else ())

    def _measure(self, links: Sequence[Edge] = (), healthy: bool = False) -> None:
        self._probes.start(self._incarnation, self._loop.rings, self._nodes(), links, healthy)

    def _nodes(self) -> dict[int, str]:
        return {rank: worker.node for rank, worker in self._recorder.ledger.workers.items()}

    def _take_probe(self) -> None:
        probed = self._probes.poll()
        if probed is not None:
            self._recorder.write(probed)
