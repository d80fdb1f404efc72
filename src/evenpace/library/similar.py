"""Which cases are alike: by the terms that they share, rare terms counting most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

from evenpace.findings import Finding, IncidentLink
from evenpace.library.catalogue import Library
from evenpace.library.clauses import named_terms
from evenpace.library.facets import members
from evenpace.library.judges import judge_of
from evenpace.library.records import FACETS, Incident
from evenpace.terms import Term, label, term

# A finding's symptom and cause say more about a case than the component that it went through.
_WEIGHT = {"symptom": 1.5, "cause": 1.5, "component": 1.0, "factor": 0.5}
_LEAST = 0.35  # of what a case with all the terms would score


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Hold a case that is alike: `score` from 0 to 1 (all terms shared), and what it shares, rarest first."""

    incident: Incident
    score: float
    shared: tuple[Term, ...]

    def why(self, lang: str) -> str:
        """Say which terms are shared, in `lang`."""
        return ", ".join(label(one.facet, one.slug, lang) for one in self.shared)


def similar(library: Library, incident: Incident, limit: int = 5) -> tuple[Neighbour, ...]:
    """Return the cases closest to a case, closest first."""
    wanted = {facet: getattr(incident.terms, facet) for facet in FACETS}
    return _closest(library, wanted, limit, least=_LEAST, without=incident)


def for_finding(library: Library, finding: Finding, limit: int = 3) -> tuple[Neighbour, ...]:
    """Return the cases closest to a finding, with what they share; none where nothing but one term is shared.

    A finding's terms are its own, those that its fault is known by, and those that its evidence names.
    """
    wanted = {facet: dict.fromkeys(getattr(finding.terms, facet)) for facet in FACETS}
    if judge := judge_of(finding.fault):
        for facet, slugs in judge.terms.items():
            wanted[facet] |= dict.fromkeys(slugs)
    for named in named_terms(" ".join(line.text or "" for line in finding.evidence)):
        wanted[named.facet][named.slug] = None
    near = _closest(library, {facet: tuple(slugs) for facet, slugs in wanted.items()}, limit, least=0.0)
    return tuple(one for one in near if len({shared.facet for shared in one.shared}) > 1)


def links(library: Library, finding: Finding, lang: str, limit: int = 3) -> tuple[IncidentLink, ...]:
    """Return `for_finding` as a finding carries it: the case's title and the reason, in `lang`."""
    return tuple(
        IncidentLink(near.incident.id, f"{near.incident.text(lang).title} ({near.why(lang)})")
        for near in for_finding(library, finding, limit)
    )


def _closest(
    library: Library,
    wanted: Mapping[str, Sequence[str]],
    limit: int,
    *,
    least: float,
    without: Incident | None = None,
) -> tuple[Neighbour, ...]:
    weights = {
        (facet, slug): _WEIGHT[facet] * log(1 + len(library.incidents) / bits.bit_count())
        for facet, slugs in wanted.items()
        for slug in slugs
        if (bits := library.facets.bits[facet].get(slug, 0))
    }
    scores: dict[int, float] = {}
    for (facet, slug), weight in weights.items():
        for row in members(library.facets.bits[facet][slug]):
            scores[row] = scores.get(row, 0.0) + weight
    if without is not None:
        scores.pop(library.row(without), None)
    whole = sum(weights.values())
    ranked = sorted(scores, key=lambda row: (-scores[row], row))[:limit]
    kept = [row for row in ranked if scores[row] >= least * whole]
    return tuple(_neighbour(library.incidents[row], scores[row] / whole, weights) for row in kept)


def _neighbour(incident: Incident, score: float, weights: Mapping[tuple[str, str], float]) -> Neighbour:
    shared = [pair for pair in weights if pair[1] in getattr(incident.terms, pair[0])]
    shared.sort(key=lambda pair: -weights[pair])
    return Neighbour(incident, round(score, 3), tuple(term(*pair) for pair in shared))
