"""Weigh what can be done about a slow job, do it where the policy lets us, and take it back when it is over.

The supervisor calls `look` a few times a second; nothing here blocks, and a failure here ends the mitigation
and not the training.
"""

from __future__ import annotations

from pathlib import Path

from evenpace.respond.judging import Cause as Act
from evenpace.respond.judging import Weighed, decision
from evenpace.respond.mitigation.applying import Applying, InForce, apply
from evenpace.respond.mitigation.episode import Episode
from evenpace.respond.mitigation.following import Following
from evenpace.respond.mitigation.loop import Loop, look, ring_of
from evenpace.respond.mitigation.price import restart_price, restart_verdict
from evenpace.respond.mitigation.probes import ProberFactory, Probes
from evenpace.respond.mitigation.view import SLOW, job, trouble
from evenpace.respond.mitigation.weighing import NOTHING, Weighing, weigh
from evenpace.respond.parts import Parts
from evenpace.respond.planner import Standing
from evenpace.respond.policy import Verdict
from evenpace.respond.strategies import Strategy
from evenpace.respond.strategies.catalogue import strategies
from evenpace.watch.events import Event, Probed

EVERY = 0.5  # seconds between two looks
HOLD = 3.0  # seconds without a slow rank before a plan is taken back; twice that after each relapse
LONGEST_HOLD = 60.0
SETTLED = 3  # iterations under a plan before the pace is judged


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
        self._in_force: InForce | None = None
        self._hold = HOLD
        self._loop = Loop({})

    # --- what the run's events say ---

    def hear(self, event: Event) -> None:
        """Take in one event of the run."""
        if self._following.hear(event):
            self._probes.cancel()
            self._reset()
            self._following.hear(event)

    # --- what follows from it ---

    def look(self) -> Act | None:
        """Do what is due; return a restart that has earned its price. Never raises."""
        now = self._parts.clock.monotonic()
        if self._broken or now - self._looked < EVERY:
            return None
        self._looked = now
        try:
            return self._look(now)
        except Exception as error:
            self._broken = True
            self._probes.cancel()
            self._parts.say_degraded(
                self._incarnation, "degraded-mitigation", error=f"{type(error).__name__}: {error}"
            )
            return None

    def _look(self, now: float) -> Act | None:
        episode = self._following.episode
        if episode is None and self._in_force is None:
            return None
        self._loop = look(self._rings())
        if not self._loop.complete:
            return None
        self._take_probe()
        if self._applying is not None:
            self._settle(self._applying, now)
            return None
        if self._probes.busy:
            return None
        if self._in_force is not None and self._take_back(self._in_force, now):
            return None
        return self._weigh(episode, now) if episode is not None and not episode.over else None

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
        failed = applying.settled(self._loop, now)
        if failed is None:
            return
        self._applying = None
        self._recorder.write(applying.event(self._loop, failed, self._incarnation, self._parts.clock.stamp()))
        episode = self._following.episode
        if failed:
            self._in_force = None
            if episode:
                episode.refused.add(applying.strategy)
            return
        self._following.plan_changed(self._loop.plan_pause)
        if applying.action == "revert":
            self._in_force = None
            self._following.forget_over()
        else:
            self._in_force = InForce(
                applying.strategy, applying.estimate, applying.before, self._following.since
            )

    def _take_back(self, force: InForce, now: float) -> bool:
        """Take a plan back where nobody is slow any more, or where it does not help; tell whether it was."""
        episode = self._following.episode
        iterations = self._following.iterations()
        if force.useless(self._following.now(), iterations) and episode and not episode.over:
            episode.refused.add(force.strategy)
            return self._revert(force, "decision-useless", now)
        slow = any(factor >= SLOW for factor in self._loop.factors().values())
        measured = bool(self._loop.factors()) and iterations >= SETTLED
        if not measured or not force.calm(slow, now, self._hold):
            return False
        self._hold = min(LONGEST_HOLD, 2 * self._hold)
        return self._revert(force, "decision-relieved", now)

    def _revert(self, force: InForce, phrase: str, now: float) -> bool:
        nodes, episode = self._nodes(), self._following.episode
        view = job(nodes, self._following.since, self._loop, self._following.pace, [], None)
        back = self._strategies[force.strategy].healthy(view)
        if back is None:
            self._in_force = None
            return False
        self._decide("revert", phrase, force.strategy, episode, Weighed(episode.lost if episode else 0.0))
        self._applying = apply(force.strategy, "revert", back, self._loop, now, force.before)
        return True

    # --- weighing ---

    def _nodes(self) -> dict[int, str]:
        return {rank: worker.node for rank, worker in self._recorder.ledger.workers.items()}

    def _weigh(self, episode: Episode, now: float) -> Act | None:
        latest = self._following.now()
        if latest is None or self._following.iterations() < SETTLED:
            return None
        weighing = self._weighing(episode, latest)
        if not weighing.chosen:
            self._tell_waiting(episode, weighing)
            self._maybe_probe(episode)
            return None
        return self._act(episode, weighing, now)

    def _weighing(self, episode: Episode, latest: float) -> Weighing:
        following = self._following
        ledger = self._recorder.ledger
        evicts = restart_verdict(episode.raised, ledger) is not None
        price = restart_price(ledger, following.started_in, self._parts.clock.wall()) if evicts else None
        groups = episode.narrowed.groups if episode.narrowed else []
        view = job(self._nodes(), following.since, self._loop, following.pace, groups, price)
        told = trouble(
            episode.suspicion(),
            episode.healthy,
            self._without(latest),
            episode.onset,
            self._loop,
            following.pace,
            episode.probed,
        )
        standing = Standing(episode.healthy, latest, episode.lost)
        running = self._in_force.estimate if self._in_force else None
        return weigh(self._strategies.values(), told, view, standing, episode.refused, running)

    def _without(self, latest: float) -> float:
        """Return the iteration time without any strategy in force."""
        return self._in_force.before if self._in_force else latest

    def _act(self, episode: Episode, weighing: Weighing, now: float) -> Act | None:
        name = weighing.chosen
        allowed = self._policy == "restart" or (self._policy == "adapt" and name != "restart")
        if name == "restart":
            verdict = restart_verdict(episode.raised, self._recorder.ledger)
            if allowed and verdict is not None:
                return Act(verdict, episode.raised.id, name, weighing.weighed)
            self._tell_once(episode, "would-restart", "decision-worth", name, weighing.weighed)
        elif not allowed:
            self._tell_once(episode, "would-adapt", "decision-worth", name, weighing.weighed)
        else:
            self._decide("adapt", "decision-worth", name, episode, weighing.weighed)
            self._applying = apply(
                name, "apply", weighing.estimates[name], self._loop, now, self._without(weighing.standing.now)
            )
        return None

    def _tell_waiting(self, episode: Episode, weighing: Weighing) -> None:
        if self._in_force is not None:
            return
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
        details: dict[str, str | int] = {"strategy": strategy}
        cause = Act(
            Verdict(action, phrase, details), episode.raised.id if episode else None, strategy, weighed
        )
        self._recorder.write(decision(cause, self._incarnation, self._parts))

    # --- probes ---

    def _maybe_probe(self, episode: Episode) -> None:
        """Have the suspects measured, once their slowness has cost as much as the pause."""
        suspicion = episode.suspicion()
        known = suspicion.sure or episode.probed is not None or episode.narrowed is None
        if self._policy == "observe" or known or episode.lost < self._probes.price:
            return
        rings = self._loop.rings
        self._probes.start(self._incarnation, rings, tuple(sorted(rings)), suspicion.links)

    def _take_probe(self) -> None:
        probed: Probed | None = self._probes.poll()
        if probed is None:
            return
        self._recorder.write(probed)
        if self._following.episode is not None:
            self._following.episode.probed = probed
