"""Claims: what all sightings of one signature say about one part, put together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from evenpace.diagnose.identity import accusable, canonical_gpu
from evenpace.diagnose.model import NOBODY, Identity, Line, Sighting
from evenpace.diagnose.roster import Roster
from evenpace.diagnose.signature import Signature

_PARTS = ("rank", "local_rank", "host", "gpu", "pid")
FOLLOWING = ("consequence", "marker", "noise")
MOST_PARTS = 128  # of one signature, with which a further one is compared, and that can be told
SYSTEMIC = 3  # parts that fail alike before the program rather than a part is suspected
# Faults of programs and settings, which many ranks show at once; a broken part shows on its own.
SHARED = (
    *(
        "user-code-exception",
        "cuda-kernel-error",
        "oom-gpu",
        "config",
        "network-config",
        "shm",
        "data-loader",
    ),
    *("launch-rendezvous", "storage", "numerics", "container-runtime", "gpu-driver", "oom-host"),
)


@dataclass(slots=True)
class Claim:
    """Hold one signature's sightings of one part: `culprit` is what all of them together say about it."""

    signature: Signature
    culprit: Identity
    sightings: list[Sighting] = field(default_factory=list)
    explained: list[Claim] = field(default_factory=list)
    victims: list[Identity] = field(default_factory=list)

    @property
    def certainty(self) -> float:
        """Return how sure the surest sighting is."""
        base = self.signature.content.certainty
        return max(base if one.certainty is None else one.certainty for one in self.sightings)

    @property
    def lines(self) -> list[Line]:
        """Return the lines that prove it, each once, in the order of the sightings."""
        found: dict[tuple[str, int, str], Line] = {}
        for sighting in self.sightings:
            for line in sighting.lines:
                found.setdefault((line.source, line.number, line.text), line)
        return list(found.values())

    @property
    def since(self) -> float | None:
        """Return when it was first seen, in seconds since the epoch, where a line says so."""
        return min((line.time for line in self.lines if line.dated and line.time is not None), default=None)

    @property
    def last(self) -> float | None:
        """Return when it was last seen, in seconds since the epoch, where a line says so."""
        return max((line.time for line in self.lines if line.dated and line.time is not None), default=None)

    @property
    def captures(self) -> Mapping[str, str]:
        """Return what the first sighting captured, completed from the later ones."""
        merged: dict[str, str] = {}
        for sighting in reversed(self.sightings):
            merged.update(sighting.captures)
        return merged


def claims(sightings: Iterable[Sighting], signatures: Mapping[str, Signature], roster: Roster) -> list[Claim]:
    """Group sightings into claims, in the order in which they were first seen."""
    grouped: dict[str, _Group] = {}
    for sighting in sightings:
        group = grouped.setdefault(sighting.signature, _Group(signatures[sighting.signature]))
        group.add(sighting, accusable(roster.fill(sighting.culprit)) if sighting.culprit else NOBODY)
    return [claim for group in grouped.values() for claim in _settled(group.claims, roster)[:MOST_PARTS]]


@dataclass(slots=True)
class _Group:
    """Collect the claims of one signature; what is said a second time about a part is found at once."""

    signature: Signature
    claims: list[Claim] = field(default_factory=list)
    _known: dict[Identity, Claim] = field(default_factory=dict)

    def add(self, sighting: Sighting, culprit: Identity) -> None:
        claim = self._known.get(culprit) or self._agreeing(culprit)
        if claim is None:
            claim = Claim(self.signature, culprit)
            self.claims.append(claim)
        claim.culprit = claim.culprit.or_else(culprit)
        claim.sightings.append(sighting)
        self._known[culprit] = claim

    def _agreeing(self, culprit: Identity) -> Claim | None:
        if (
            self.signature.role in FOLLOWING
        ):  # who printed it is a victim, and several are one claim in the end
            return None
        return next((one for one in self.claims[:MOST_PARTS] if agree(one.culprit, culprit)), None)


def agree(one: Identity, other: Identity) -> bool:
    """Tell whether two identities can be the same part: nothing differs, and something is equal.

    Nobody agrees with nobody only.
    """
    if not one or not other:
        return not one and not other
    equal = False
    for name in _PARTS:
        mine, theirs = getattr(one, name), getattr(other, name)
        if mine is None or theirs is None:
            continue
        if mine != theirs and _plain(name, mine) != _plain(name, theirs):
            return False
        equal = equal or name != "local_rank"
    return equal or (one.local_rank is not None and one.local_rank == other.local_rank)


def _plain(name: str, value: object) -> object:
    if isinstance(value, tuple):
        return frozenset(_plain(name, one) for one in value)
    return canonical_gpu(str(value)) if name == "gpu" else value


def _settled(each: list[Claim], roster: Roster) -> list[Claim]:
    """Return the claims of one signature: the nameless join the named, and what spreads is one."""
    named = [claim for claim in each if claim.culprit]
    if named and len(named) < len(each):
        for claim in each:
            if not claim.culprit:
                named[0].sightings += claim.sightings
        each = named
    if len(each) < 2:
        return each
    signature = each[0].signature
    if signature.content.spreads:
        return [_joined(each, each[0].culprit)]
    if signature.role in FOLLOWING:
        return [_joined(each, NOBODY)]
    if signature.fault in SHARED and len(each) >= SYSTEMIC and len(each) >= _half(roster):
        return [replace(_joined(each, NOBODY), victims=[])]
    return each


def _half(roster: Roster) -> float:
    return (roster.world or len(roster.ranks)) / 2


def _joined(each: list[Claim], culprit: Identity) -> Claim:
    """Return one claim with all sightings; whoever is not the culprit is a victim."""
    whole = Claim(each[0].signature, culprit)
    for claim in each:
        whole.sightings += claim.sightings
        whole.victims += [claim.culprit] if claim.culprit and claim.culprit != culprit else []
    return whole
