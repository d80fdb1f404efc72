"""One stretch of slowness: what it has cost, what is known of its cause, what was tried."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from evenpace.findings import Finding, several
from evenpace.respond.mitigation.pace import LONGEST
from evenpace.respond.policy import SURE
from evenpace.respond.strategies import Cause, Edge
from evenpace.watch.events import FindingRaised, LinkProbe, Narrowed, Probed

CONFIRMED = 0.9  # the confidence in whom a probe shows to be slow as well
LOST, HEALTHY = "seconds an iteration lost", "seconds of a healthy iteration"  # evidence of a finding

Whom = tuple[Cause, tuple[int, ...], tuple[Edge, ...]]  # a cause, and the ranks and links it is put down to


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Who it is, by the finding, what was narrowed and the probes; `sure` where nothing is left to probe."""

    cause: Cause
    ranks: tuple[int, ...] = ()
    links: tuple[Edge, ...] = ()
    sure: bool = False

    @property
    def whom(self) -> Whom:
        """Return the cause and whom it is put down to."""
        return self.cause, self.ranks, self.links

    def joined(self, other: Suspicion) -> Suspicion:
        """Return both at once: slow ranks, and slow links besides."""
        ranks = self.ranks if self.cause is Cause.COMPUTE else other.ranks
        links = tuple(dict.fromkeys((*self.links, *other.links)))
        return Suspicion(Cause.COMPUTE, ranks, links, self.sure and other.sure)


@dataclass(slots=True)
class Episode:
    """A slow finding and its loss in seconds: in total, and since the strategy in force was changed."""

    raised: FindingRaised
    onset: int
    healthy: float
    lost: float = 0.0
    total: float = 0.0
    narrowed: Narrowed | None = None
    probed: Probed | None = None
    beside: FindingRaised | None = None  # a slow link beside a slow rank, or the other way round
    told: set[str] = field(default_factory=set)  # what was decided and recorded
    over: bool = False  # relieved; still there where a strategy is in force that may be why

    def take(self, event: FindingRaised) -> bool:
        """Take in a finding of this slowness: the same, or another cause beside it; tell whether it is."""
        if event.id == self.raised.id:
            self.raised, self.over = event, False
        elif (self.beside is not None and event.id == self.beside.id) or self._is_beside(event.finding):
            self.beside = event
        else:
            return False
        return True

    def _is_beside(self, finding: Finding) -> bool:
        mine, other = _named(self.raised.finding), _named(finding)
        return not self.over and mine is not None and other is not None and mine.cause is not other.cause

    def close(self, number: int) -> None:
        """Take note that a finding is over; the slowness is when none is left."""
        if self.beside is not None and number in (self.raised.id, self.beside.id):
            self.raised = self.beside if number == self.raised.id else self.raised
            self.beside = None
        elif number == self.raised.id:
            self.over = True

    def lose(self, duration: float) -> None:
        """Count one iteration's loss."""
        loss = max(0.0, duration - self.healthy)
        self.lost += loss
        self.total += loss

    @property
    def finding(self) -> Finding:
        """Return the finding, surer where a probe has shown the same ranks to be slow, and nobody else."""
        said = self.raised.finding
        shown = set(self.probed.slow_ranks) if self.probed else set()
        confirmed = bool(shown) and shown == set(several(said.subject.rank))
        return replace(said, confidence=max(said.confidence, CONFIRMED)) if confirmed else said

    @property
    def settled(self) -> bool:
        """Tell whether there is nothing that a probe could decide."""
        if self.probed is not None or self.narrowed is None:
            return True
        return self.suspicion().sure and self.raised.finding.confidence >= SURE

    def suspicion(self) -> Suspicion:
        """Return what is known of the cause."""
        named = _named(self.raised.finding)
        if named is not None:
            beside = _named(self.beside.finding) if self.beside else None
            return named.joined(beside) if beside else named
        if self.probed is not None and (self.probed.slow_ranks or self.probed.slow_links):
            links = tuple((source, target) for source, target in self.probed.slow_links)
            ranks = tuple(self.probed.slow_ranks)
            return Suspicion(Cause.LINK if links else Cause.COMPUTE, ranks, links, sure=True)
        if self.narrowed is None:
            return Suspicion(Cause.UNCLEAR)
        links = tuple((source, target) for source, target in self.narrowed.links)
        cause = Cause(self.narrowed.cause) if self.narrowed.cause in tuple(Cause) else Cause.UNCLEAR
        return Suspicion(cause, tuple(self.narrowed.suspects), links, sure=self.narrowed.proven)


def told(finding: Finding, metric: str) -> float:
    """Return the seconds that a finding gives as evidence (`LOST` or `HEALTHY`); 0 where it says nothing.

    What cannot be the seconds of an iteration says nothing.
    """
    value = next((item.value for item in finding.evidence if item.metric == metric), None)
    return float(value) if isinstance(value, int | float) and 0.0 < value < LONGEST else 0.0


def slowed(links: Iterable[LinkProbe]) -> dict[Edge, float]:
    """Return how many times what was to be expected each measured link took."""
    return {
        (one.source, one.target): one.seconds / one.expected
        for one in links
        if 0.0 < one.expected < math.inf and 0.0 < one.seconds < math.inf
    }


def _named(finding: Finding) -> Suspicion | None:
    """Return whom the finding itself names, if anybody."""
    ranks = tuple(several(finding.subject.rank))
    if finding.subject.kind == "link":
        return Suspicion(Cause.LINK, (), ((ranks[0], ranks[1]),), sure=True) if len(ranks) == 2 else None
    if not ranks:
        return None
    cause = Cause.LINK if finding.fault == "communication-slow" else Cause.COMPUTE
    return Suspicion(cause, ranks, (), sure=True)
