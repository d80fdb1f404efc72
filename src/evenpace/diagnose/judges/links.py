"""Judge failed RDMA links of several hosts: do all of them meet at one host?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import re2

from evenpace.diagnose.judges.collectives import evidence
from evenpace.diagnose.matching import options
from evenpace.diagnose.model import Case, Identity, Line, Sighting

_LONGEST = 8192
_FEWEST = 3  # hosts that complain of the same one
_NEARLY_ALL = 0.9
_FAILED = re2.compile(r"Got completion from peer ", options())
_LINK = re.compile(
    r"Got completion from peer (?P<peer>[\w.:%-]{1,255})<\d{1,6}> with (?:error|status=)\s?"
    r"(?:IBV_WC_\w{1,40}\()?(?P<code>\d{1,3})"
)
_LOCAL = re.compile(r"localGid ?([0-9a-f:.]{3,45})")
_REMOTE = re.compile(r"remoteGids? ?([0-9a-f:.]{3,45})")
_NO_ANSWER = frozenset({"12", "13"})  # a flushed request (5) only follows


@dataclass(frozen=True, slots=True)
class _Complaint:
    line: Line
    witness: str
    peer: str
    spelled: str


def judge(case: Case) -> Iterable[Sighting]:
    """Return the one host at which all links that gave no answer meet, as several hosts report it."""
    said = list(_complaints(case))
    links = {frozenset((one.witness, one.peer)) for one in said}
    hosts = {one.witness for one in said}
    often = Counter(host for link in links for host in link)
    least = max(_FEWEST, _NEARLY_ALL * len(links))
    met = [host for host, here in often.items() if here >= least and len(hosts - {host}) >= _FEWEST]
    if len(met) != 1:
        return
    (host,) = met
    against = [one for one in said if one.peer == host]
    others = [one for one in said if one.witness == host]
    if not against:
        return
    first = {one.witness: one.line for one in reversed(against)}
    lines = evidence(against[0].line, [*first.values(), *(one.line for one in others)])
    victims = tuple(Identity(host=name) for name in sorted(hosts - {host}))[:64]
    captures = {"witnesses": ", ".join(sorted(hosts - {host})), "count": str(len(first))}
    yield Sighting("links-meet-at-host", lines, Identity(host=host), victims, captures, count=len(against))


def _complaints(case: Case) -> Iterator[_Complaint]:
    lines = case.lines_with(_FAILED)
    names = _names(lines, case.roster.addresses)
    for line in lines:
        found = _LINK.search(line.text[:_LONGEST])
        if found is None or found["code"] not in _NO_ANSWER or not isinstance(line.printer.host, str):
            continue
        peer = names.get(found["peer"], found["peer"])
        if peer != line.printer.host:
            yield _Complaint(line, line.printer.host, peer, found["peer"])


def _names(lines: Sequence[Line], known: Mapping[str, str]) -> dict[str, str]:
    """Return the host of each address: as it says itself, or as whoever has the GID at that end."""
    owners: dict[str, set[str]] = {}
    for line in lines:
        if (own := _LOCAL.search(line.text[:_LONGEST])) and isinstance(line.printer.host, str):
            owners.setdefault(own[1], set()).add(line.printer.host)
    names = dict(known)
    for line in lines:
        text = line.text[:_LONGEST]
        link, far = _LINK.search(text), _REMOTE.search(text)
        if link and far and len(owner := owners.get(far[1], set())) == 1:
            names.setdefault(link["peer"], next(iter(owner)))
    return names
