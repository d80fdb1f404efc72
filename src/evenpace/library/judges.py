"""What of evenpace would have caught a case: the faults that its judges name, tied to cases by terms."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from evenpace.library.records import FACETS, Incident
from evenpace.terms import term


@dataclass(frozen=True, slots=True)
class Judge:
    """Hold a fault that command `by` names: in cases of `scope` with one of `terms` in every facet listed."""

    slug: str
    by: str
    scope: tuple[str, ...]
    terms: Mapping[str, tuple[str, ...]]

    def label(self, lang: str) -> str:
        """Return the fault's name."""
        found = term("fault", self.slug)
        return found.ko if lang == "ko" else found.en

    def definition(self, lang: str) -> str:
        """Return what the fault is."""
        found = term("fault", self.slug)
        return found.definition_ko if lang == "ko" and found.definition_ko else found.definition

    def catches(self, incident: Incident) -> bool:
        """Tell whether the case looks like this fault."""
        carried = {facet: getattr(incident.terms, facet) for facet in FACETS}
        return incident.scope in self.scope and all(
            any(slug in carried[facet] for slug in slugs) for facet, slugs in self.terms.items()
        )


@cache
def all_judges() -> tuple[Judge, ...]:
    """Return all judges, in the order of the data."""
    data = tomllib.loads((Path(__file__).parent / "judges.toml").read_text(encoding="utf-8"))
    return tuple(
        Judge(
            slug=slug,
            by=fields["by"],
            scope=tuple(fields["scope"]),
            terms={facet: tuple(fields[facet]) for facet in FACETS if facet in fields},
        )
        for slug, fields in data.items()
    )


def judges(incident: Incident) -> tuple[Judge, ...]:
    """Return the judges that would have caught a case; none where evenpace does not look at it yet."""
    return tuple(judge for judge in all_judges() if judge.catches(incident))


def judges_of(facet: str, slug: str) -> tuple[Judge, ...]:
    """Return the judges that look for a term."""
    return tuple(judge for judge in all_judges() if slug in judge.terms.get(facet, ()))


def judge_of(fault: str) -> Judge | None:
    """Return the judge of a fault, where it has one."""
    return next((judge for judge in all_judges() if judge.slug == fault), None)
