"""Put what is known of a slow job into the words of the strategies: its trouble, and the job itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from evenpace.respond.ledger import Ledger
from evenpace.respond.mitigation.episode import Episode, Suspicion, slowed
from evenpace.respond.mitigation.following import Following
from evenpace.respond.mitigation.loop import Loop
from evenpace.respond.mitigation.price import restart_price, restart_verdict
from evenpace.respond.strategies import Cause, Edge, Estimate, Job, Strategy, Trouble
from evenpace.watch.events import GroupTime, Probed

SLOW = 1.1  # times its peers' time: from here on a rank counts as slow
CHANGE = 0.5  # of an iteration: what a change of plans costs beside its pause
LEAST_LINK = 1.5  # times its healthy time: what a slow link is taken for where it was not measured

Asked = Callable[[Strategy], Estimate | None]


@dataclass(frozen=True, slots=True)
class View:
    """One look at everything; `wall` is epoch seconds."""

    following: Following
    loop: Loop
    ledger: Ledger
    wall: float

    def weighed(self, episode: Episode) -> Asked:
        """Return a function that asks a strategy for its estimate in this episode."""
        evicts = restart_verdict(episode.finding, self.ledger) is not None
        price = restart_price(self.ledger, self.following.started_in, self.wall) if evicts else None
        job = self.job(price, episode)

        def ask(strategy: Strategy) -> Estimate | None:
            found = strategy.estimate(self.trouble(episode, strategy.name), job)
            return replace(found, cost=self._cost(found, strategy.name, episode)) if found else None

        return ask

    def _cost(self, estimate: Estimate, strategy: str, episode: Episode) -> float:
        """Return a price: by the pause that the strategy took last in this run, where it was there before."""
        pause = self.following.pauses.get(strategy)
        usual = estimate.cost if pause is None else 2 * pause + CHANGE * episode.healthy
        return float(2 ** self.following.changed(strategy) * min(usual, estimate.cost))

    def trouble(self, episode: Episode, strategy: str) -> Trouble:
        """Return the trouble as a strategy meets it: times are those without it, with all others in force."""
        suspicion, now = episode.suspicion(), self.following.without(strategy) or episode.healthy
        links = {edge: one for force in self.following.in_force.values() for edge, one in force.links.items()}
        factors: Mapping[int, float] = {}
        if suspicion.cause is Cause.COMPUTE:
            factors = self._factors(episode, suspicion)
        if suspicion.links and suspicion.cause is not Cause.UNCLEAR:
            usual = max(LEAST_LINK, now / episode.healthy)
            links |= dict.fromkeys(suspicion.links, usual) | _measured(episode.probed, suspicion)
        return Trouble(suspicion.cause, episode.healthy, now, factors=factors, links=links)

    def _factors(self, episode: Episode, suspicion: Suspicion) -> Mapping[int, float]:
        """Measure the suspects by their micro-batches, or by their own time before and since the onset."""
        timed = self.loop.factors()
        if timed:
            slow = {rank: factor for rank, factor in timed.items() if factor >= SLOW}
            return slow | {rank: timed[rank] for rank in suspicion.ranks if rank in timed}
        pace = self.following.pace
        before, since = pace.own_before(episode.onset), pace.own(episode.onset)
        return {
            rank: max(1.0, since[rank] / before[rank])
            for rank in suspicion.ranks
            if rank in since and before.get(rank, 0.0) > 0
        }

    def job(self, restart: float | None, episode: Episode | None = None) -> Job:
        """Return the job as it runs now; `restart` is what that costs, in seconds."""
        nodes = {rank: worker.node for rank, worker in self.ledger.workers.items()}
        groups = episode.narrowed.groups if episode and episode.narrowed else []
        return Job(
            ranks=tuple(sorted(nodes)),
            nodes=nodes,
            own=self.following.pace.own(self.following.since),
            micro_batch=self.loop.micro_batch,
            counts=self.loop.counts,
            iteration=self.following.now(),
            traffic=_traffic(groups),
            microbatches=self.loop.offers.microbatches,
            positions=self.loop.offers.positions,
            restart=restart,
        )


def _measured(probed: Probed | None, suspicion: Suspicion) -> dict[Edge, float]:
    found = slowed(probed.links) if probed else {}
    return {link: ratio for link, ratio in found.items() if link in suspicion.links}


def _traffic(groups: list[GroupTime]) -> dict[Edge, int]:
    """Return the bytes that each ring link carries in an iteration: groups all-reduce in order of rank."""
    carried: dict[Edge, int] = {}
    for group in groups:
        size = len(group.ranks)
        for at, source in enumerate(group.ranks if size > 1 else []):
            edge = source, group.ranks[(at + 1) % size]
            carried[edge] = carried.get(edge, 0) + group.bytes * 2 * (size - 1) // size
    return carried
