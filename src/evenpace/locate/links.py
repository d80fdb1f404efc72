"""Links between workers: those in use, in which passes all of them can be measured, and which are slow.

A link is a directed pair of global ranks. Probes take a number of passes that does not grow with the number
of workers (Greyhound, USENIX ATC'25, section 4.3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evenpace.locate.colouring import colour
from evenpace.locate.peers import Peers, level, peers

Edge = tuple[int, int]
SLOW = 1.5  # times what was to be expected: transfers over RDMA vary by 0.29 in health (Falcon, table 2)
_ENOUGH = 3  # peers in the same pass


def ring_links(ranks: Sequence[int]) -> list[Edge]:
    """Return the links of a ring: each rank to the next."""
    if len(ranks) < 2:
        return []
    return list(zip(ranks, [*ranks[1:], ranks[0]], strict=True))


def links_in_use(groups: Iterable[Sequence[int]], pairs: Iterable[Edge] = ()) -> list[Edge]:
    """Return the links that collectives over rings of these groups and point-to-point pairs use, sorted."""
    rings = (link for ranks in groups for link in ring_links(ranks))
    return sorted({link for link in (*rings, *pairs) if link[0] != link[1]})


def passes(links: Iterable[Edge]) -> list[list[Edge]]:
    """Share links among passes so that each rank takes part in at most one transfer of a pass.

    Links in one direction only take as many passes as `colour` has colours: 2 for an even ring or a chain,
    3 for an odd ring or a binary tree, at most D + 1 for ranks with at most D partners. Where both
    directions of a pair are asked for, each has a pass of its own, so at most twice as many.
    """
    asked = sorted({link for link in links if link[0] != link[1]})
    turns: dict[tuple[int, bool], list[Edge]] = {}
    colours = colour(asked)
    known = set(asked)
    for source, target in asked:
        second = source > target and (target, source) in known
        turns.setdefault((colours[min(source, target), max(source, target)], second), []).append(
            (source, target)
        )
    return [turns[key] for key in sorted(turns, key=lambda key: (key[1], key[0]))]


@dataclass(frozen=True, slots=True)
class LinkTime:
    """What one message took over a link, in seconds, and in which pass."""

    link: Edge
    seconds: float
    turn: int = 0


@dataclass(frozen=True, slots=True)
class LinkVerdict:
    """A link's time beside what was to be expected: the lower of its peers' median and its own in health."""

    link: Edge
    seconds: float
    expected: float
    slow: bool

    @property
    def ratio(self) -> float:
        """Return how many times what was expected it took."""
        return self.seconds / self.expected


def judge_links(
    times: Sequence[LinkTime], healthy: Mapping[Edge, float], kinds: Mapping[Edge, str] | None = None
) -> list[LinkVerdict]:
    """Compare each link with others of its kind in its pass, and with its first healthy measurement.

    `healthy` has seconds for the same bytes. Where a pass has fewer than three others of that kind, those of
    all passes are peers. Without a peer and without a healthy measurement nothing is slow.
    """
    kinds = kinds or {}
    seconds = [time.seconds for time in times]
    kind = [kinds.get(time.link, "") for time in times]
    places = [(name, time.turn) for name, time in zip(kind, times, strict=True)]
    counts = Counter(places)
    verdicts = []
    both = zip(times, places, peers(seconds, places), peers(seconds, kind), strict=True)
    for time, place, beside, alike in both:
        middle = beside.median if counts[place] > _ENOUGH else alike.median
        its_peers = Peers(middle, max(beside.spread, alike.spread))
        usual = level(its_peers, healthy.get(time.link), time.seconds, SLOW)
        verdicts.append(LinkVerdict(time.link, time.seconds, usual.expected, usual.slow(time.seconds)))
    return verdicts
