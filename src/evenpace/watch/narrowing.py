"""Who may be the cause of a slowness, by what the tap saw alone: a worker, a pair, or a group's links.

Proven is what needs no probe: the others are seen to wait for a worker whose own time grew, or one pair's
transfer grew. Of a collective only the group is seen, not which of its links is slow.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from evenpace.detect.attribution import MOST, NOTABLE, RIVAL, SLIGHT, SlowKind, SlowVerdict
from evenpace.detect.comparable import Compared, Traffic, compare
from evenpace.detect.growth import Edge
from evenpace.terms import say
from evenpace.watch.events import GroupTime, Narrowed, stamp
from evenpace.watch.groups import GroupBook

KEPT = 100  # iterations of traffic that are remembered
PAST, NOW = 40, 20  # iterations that are compared
SHOWN = 16  # groups in an event


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What is left of the job as a suspect; `cause` as in events.Narrowed, `why` in English."""

    cause: str
    suspects: tuple[int, ...] = ()
    links: tuple[Edge, ...] = ()
    proven: bool = False
    why: str = ""
    groups: tuple[Compared, ...] = ()

    @property
    def answer(self) -> tuple[str, tuple[int, ...], tuple[Edge, ...], bool]:
        """Return what it says, without the numbers."""
        return self.cause, self.suspects, self.links, self.proven

    def event(self, incarnation: int, iteration: int, now: float, book: GroupBook) -> Narrowed:
        """Return what goes into the event log; `now` in epoch seconds."""
        return Narrowed(
            time=stamp(now),
            incarnation=incarnation,
            iteration=iteration,
            cause=self.cause,
            suspects=list(self.suspects),
            links=list(self.links),
            groups=[_group_time(one, book) for one in self.groups],
            proven=self.proven,
            why=self.why,
        )


def _group_time(one: Compared, book: GroupBook) -> GroupTime:
    pair = one.source >= 0
    return GroupTime(
        group=book.name(one.group),
        ranks=[one.source, one.target] if pair else list(book.groups[one.group].ranks),
        cohort=one.cohort,
        seconds=round(one.seconds, 6),
        expected=round(one.expected, 6),
        bytes=one.bytes,
        last=None if one.last < 0 else one.last,
        share_last=round(one.share_last, 3),
    )


def narrow(verdict: SlowVerdict, compared: Sequence[Compared], book: GroupBook) -> Narrowing:
    """Narrow by the verdict on the ranks' parts, and by how their groups and pairs compare.

    A group that was never announced is known by one of its ranks alone, and says nothing of links.
    """
    compared = [one for one in compared if len(book.groups[one.group].ranks) > 1]
    shown = tuple(sorted(compared, key=lambda one: (not one.suspicious, -one.growth))[:SHOWN])
    if verdict.culprits or verdict.link:
        return _named(verdict, shown)
    if verdict.kind is SlowKind.THROUGHPUT:
        return Narrowing("unclear", why=_say("narrowed-all", verdict), groups=shown)
    hot = _own_time(verdict)
    shared = verdict.kind is SlowKind.COMMUNICATION or verdict.transfer >= MOST * verdict.lost > 0
    if shared or (not hot and _group_explains(verdict, compared)):
        return _candidates(verdict, compared, book, shown)
    cause = "compute" if hot else "unclear"
    why = _say("narrowed-hint" if hot else "narrowed-unclear", verdict, hot)
    return Narrowing(cause, hot, why=why, groups=shown)


def _group_explains(verdict: SlowVerdict, compared: Sequence[Compared]) -> bool:
    """Tell whether the transfers of one group are most of what is lost: the others wait for its ranks."""
    return any(one.suspicious and one.growth >= MOST * verdict.lost > 0 for one in compared)


def _named(verdict: SlowVerdict, shown: tuple[Compared, ...]) -> Narrowing:
    """Say what the verdict names: it is proven."""
    links = (verdict.link,) if verdict.link else ()
    if verdict.kind is not SlowKind.COMMUNICATION:
        key = "narrowed-both" if links else "narrowed-worker"
        why = _say(key, verdict, verdict.culprits)
        return Narrowing("compute", verdict.culprits, links, True, why, shown)
    if verdict.link:
        return Narrowing("link", verdict.link, links, True, _say("narrowed-pair", verdict), shown)
    hub = {(one.source, one.target) for one in shown if one.suspicious and one.source >= 0}
    mine = tuple(sorted(pair for pair in hub if {*pair} & {*verdict.culprits}))
    why = _say("narrowed-hub", verdict, verdict.culprits)
    return Narrowing("link", verdict.culprits, mine, True, why, shown)


def _candidates(
    verdict: SlowVerdict, compared: Sequence[Compared], book: GroupBook, shown: tuple[Compared, ...]
) -> Narrowing:
    """Say which links may be slow: those of the groups, and the pairs, whose transfers grew most."""
    top = max((one.growth for one in compared), default=0.0)
    grown = [one for one in compared if one.growth >= max(RIVAL * top, NOTABLE * verdict.lost) > 0]
    groups = [one for one in grown if one.suspicious] or grown
    if not groups:
        return Narrowing("unclear", why=_say("narrowed-unclear", verdict), groups=shown)
    links = sorted({link for one in groups for link in _links(one, book)})
    suspects = tuple(sorted({rank for link in links for rank in link}))
    names = ", ".join(dict.fromkeys(book.name(one.group) for one in groups[:3]))
    why = say(
        "narrowed-groups",
        "en",
        groups=names + (", …" if len(groups) > 3 else ""),
        seconds=groups[0].seconds,
        usual=groups[0].seconds - groups[0].growth,
    )
    return Narrowing("link", suspects, tuple(links), False, why, shown)


def _links(one: Compared, book: GroupBook) -> Iterable[Edge]:
    """Return a pair's link, or those of a ring in the order of the group, which may go either way round."""
    if one.source >= 0:
        return [(one.source, one.target)]
    ranks = book.groups[one.group].ranks
    ring = list(zip(ranks, (*ranks[1:], *ranks[:1]), strict=True))
    return [edge for pair in ring if pair[0] != pair[1] for edge in (pair, pair[::-1])]


def _own_time(verdict: SlowVerdict) -> tuple[int, ...]:
    """Return the ranks whose own time grew most, if that matters and they are at most half of the job."""
    top = max(verdict.excess.values(), default=0.0)
    enough = max(RIVAL * top, SLIGHT * verdict.lost)
    hot = tuple(sorted(rank for rank, excess in verdict.excess.items() if excess >= enough))
    return hot if top >= NOTABLE * verdict.lost > 0 and 2 * len(hot) <= len(verdict.excess) else ()


def _say(key: str, verdict: SlowVerdict, ranks: Iterable[int] = ()) -> str:
    source, target = verdict.link or (-1, -1)
    return say(
        key,
        "en",
        rank=", ".join(map(str, ranks)),
        seconds=max((verdict.excess.get(rank, 0.0) for rank in ranks), default=0.0),
        lost=verdict.lost,
        source=source,
        target=target,
    )


@dataclass(slots=True)
class TrafficBook:
    """Remember the traffic of the latest iterations, and which of them were slow."""

    _kept: deque[tuple[int, Traffic]] = field(default_factory=lambda: deque(maxlen=KEPT))
    _slow: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=KEPT))  # first, and end

    def add(self, iteration: int, traffic: Traffic) -> None:
        """Take an iteration's traffic."""
        self._kept.append((iteration, traffic))

    def began(self, iteration: int) -> None:
        """Note that the job is slow from this iteration on."""
        if not self._slow or self._slow[-1][1] != float("inf"):
            self._slow.append((iteration, float("inf")))

    def ended(self, iteration: int) -> None:
        """Note that it is well from this iteration on."""
        if self._slow and self._slow[-1][1] == float("inf"):
            self._slow[-1] = (self._slow[-1][0], iteration)

    def compare(self, onset: int) -> list[Compared]:
        """Compare the groups' traffic from the onset on with each other's, and with their healthy past."""
        past = [one for at, one in self._kept if at < onset and not self._is_slow(at)]
        now = [one for at, one in self._kept if at >= onset]
        return compare(past[-PAST:], list(islice(reversed(now), NOW)))

    def _is_slow(self, iteration: int) -> bool:
        return any(first <= iteration < end for first, end in self._slow)
