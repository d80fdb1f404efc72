"""From logs to a diagnosis: read, find signatures, judge, attribute."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

from evenpace.diagnose import judges
from evenpace.diagnose.attribution import Verdict, attribute
from evenpace.diagnose.claims import Claim, claims
from evenpace.diagnose.matching import Matcher
from evenpace.diagnose.model import NOBODY, Case, Identity, Line, Sighting
from evenpace.diagnose.signature import UNEXPLAINED, Signature, signatures
from evenpace.diagnose.unknown import rare, says_failed

MOST_EVIDENCE = 14
MOST_OF_ONE = 3  # lines of one consequence
MOST_UNKNOWN = 28
MOST_VICTIMS = 64
MOST_TOLD = 64  # findings of one answer

Judge = Callable[[Case], Iterable[Sighting]]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Hold one answer, in no language yet: `signature` is None where only consequences are known.

    `lines` prove it, the most telling first. `missing` says what would have told more. `since` is in seconds
    since the epoch.
    """

    signature: Signature | None
    fault: str
    severity: str
    certainty: float
    culprit: Identity = NOBODY
    victims: tuple[Identity, ...] = ()
    lines: tuple[Line, ...] = ()
    details: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    since: float | None = None


def diagnose(case: Case, without: Iterable[str] = ()) -> list[Diagnosis]:
    """Return what the logs say, the answer first; empty where nothing is wrong.

    `without` leaves signatures out: what would be said if they were not known.
    """
    known = {name: one for name, one in signatures().items() if name not in set(without)}
    sightings = [*_matcher(tuple(known)).sightings(case.lines), *_judged(case, known)]
    noise = {
        (line.source, line.number)
        for sighting in sightings
        if known[sighting.signature].role == "noise"
        for line in sighting.lines[:1]
    }
    ends = {source.name: source.last for source in case.sources if source.last is not None}
    verdict = attribute(claims(sightings, known, case.roster), ends)
    told = [_told(claim, case) for claim in verdict.answers[:MOST_TOLD]]
    older = [_told(claim, case) for claim in verdict.older[:MOST_TOLD]]
    if told and not _is_guess(case, verdict, sightings):
        return [*told, *older]
    return [*_unexplained(case, verdict, noise), *told, *older]


def standing_out(case: Case) -> list[Line]:
    """Return the lines that a reader should look at where nothing was found."""
    return rare(case, ())


def _is_guess(case: Case, verdict: Verdict, sightings: Iterable[Sighting]) -> bool:
    """Tell whether the answer is only a hint, beside a failure that no signature knows."""
    if any(claim.signature.role == "cause" for claim in verdict.answers):
        return False
    known = {(line.source, line.number) for sighting in sightings for line in sighting.lines}
    return says_failed(case, known)


@cache
def _matcher(names: tuple[str, ...]) -> Matcher:
    return Matcher({name: signatures()[name] for name in names})


@cache
def all_judges() -> tuple[Judge, ...]:
    """Return the judges, discovered by their path."""
    names = sorted(module.name for module in pkgutil.iter_modules(judges.__path__))
    return tuple(importlib.import_module(f"{judges.__name__}.{name}").judge for name in names)


def _judged(case: Case, known: Mapping[str, Signature]) -> list[Sighting]:
    return [sighting for judge in all_judges() for sighting in judge(case) if sighting.signature in known]


def _told(claim: Claim, case: Case) -> Diagnosis:
    content = claim.signature.content
    return Diagnosis(
        signature=claim.signature,
        fault=claim.signature.fault,
        severity=content.severity,
        certainty=claim.certainty,
        culprit=claim.culprit,
        victims=tuple(dict.fromkeys(claim.victims))[:MOST_VICTIMS],
        lines=_evidence(claim),
        details=_details(claim),
        missing=_missing(claim.culprit, claim.signature, case),
        since=claim.since,
    )


def _evidence(claim: Claim) -> tuple[Line, ...]:
    """Return the claim's own lines, then one of each that it explains, then more of both."""
    own = [sighting.lines for sighting in claim.sightings]
    others = [one.lines for one in claim.explained]
    first = [line for lines in own[:2] for line in lines] + [lines[0] for lines in others if lines]
    rest = [line for lines in (*own[2:], *(lines[1:MOST_OF_ONE] for lines in others)) for line in lines]
    unique = {(line.source, line.number, line.text): line for line in (*first, *rest)}
    return tuple(unique.values())[:MOST_EVIDENCE]


def _details(claim: Claim) -> dict[str, str]:
    culprit = claim.culprit
    said = {
        name: _listed(value)
        for name in ("rank", "local_rank", "host", "gpu", "pid")
        if (value := getattr(culprit, name)) is not None
    }
    if claim.culprit.host is not None and _is_pod(claim):
        said["pod"] = said.pop("host")  # no command for a node takes its name
    return {**claim.captures, **said}


def _is_pod(claim: Claim) -> bool:
    """Tell whether what is named as the host is the name of a pod, as `kubectl logs --prefix` prints it."""
    return any(f"[pod/{claim.culprit.host}/" in line.text for line in claim.lines)


def _listed(value: object) -> str:
    return ",".join(str(one) for one in value) if isinstance(value, tuple) else str(value)


def _missing(culprit: Identity, signature: Signature, case: Case) -> tuple[str, ...]:
    """Return the keys of what would tell more: a part of some machine is to blame, and which is not known."""
    if signature.content.names == "nobody" or signature.content.missing:
        return ()
    wanted = []
    if culprit.host is None:
        wanted.append("missing-host")
    if not culprit and len(case.sources) < 2:
        wanted.append("missing-other-ranks")
    return tuple(wanted)


def _unexplained(case: Case, verdict: Verdict, noise: set[tuple[str, int]]) -> list[Diagnosis]:
    if not verdict.consequences and not says_failed(case, noise):
        return []
    unique = {(line.source, line.number, line.text): line for line in _to_look_at(case, verdict, noise)}
    victims = [one for claim in verdict.consequences for one in (claim.culprit, *claim.victims) if one]
    return [
        Diagnosis(
            None,
            UNEXPLAINED,
            "critical",
            0.3,
            victims=tuple(dict.fromkeys(victims))[:MOST_VICTIMS],
            lines=tuple(unique.values())[:MOST_UNKNOWN],
            missing=("missing-other-ranks", "missing-kernel-log", "missing-debug"),
            since=min((one.since for one in verdict.consequences if one.since is not None), default=None),
        )
    ]


def _to_look_at(case: Case, verdict: Verdict, noise: set[tuple[str, int]]) -> Iterator[Line]:
    """Yield the consequences, a line of each rank, and what else stands out."""
    for claim in verdict.consequences:
        yield from claim.lines[:4]
    yield from rare(case, noise)
