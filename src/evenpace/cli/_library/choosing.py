"""From what the user typed to a query; a typing error is answered with the nearest name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from evenpace.errors import Problem
from evenpace.library.catalogue import Library, Query
from evenpace.library.facets import FACETS
from evenpace.library.records import FACETS as OF_TERMS
from evenpace.terms import Term, facets

_ID = re.compile(r"(?:IL-?)?([0-9]{1,4})", re.IGNORECASE)
_LONGEST = 80
_LIKE = 0.6


def query(lib: Library, words: Sequence[str], options: Mapping[str, Any]) -> Query:
    """Return the query of a command line; raises Problem for an unknown value, with the nearest."""
    filters: dict[str, tuple[str, ...]] = {}
    for facet in FACETS:
        typed = [one.strip() for given in options[facet] for one in given.split(",") if one.strip()]
        if typed:
            filters[facet] = tuple(dict.fromkeys(_value(lib, facet, one) for one in typed))
    return Query(" ".join(words), filters)


def case_id(typed: str) -> str:
    """Return `IL-0004` for `il-0004`, `IL-4` or `4`; what is no id stays as it is."""
    found = _ID.fullmatch(typed.strip())
    return f"IL-{int(found[1]):04d}" if found and found[1].isascii() else typed


def known_term(facet: str, typed: str) -> Term:
    """Return a term by its slug; raises Problem with the nearest."""
    if found := facets()[facet].get(typed.lower()):
        return found
    raise Problem(f"there is no {facet} {typed[:40]!r}; {hint(facet, typed)}")


def hint(facet: str, typed: str) -> str:
    """Say which terms could be meant."""
    found = near(facet, typed)
    listed = f"`evenpace library terms {facet}` lists them"
    return f"did you mean {' or '.join(found)}?" if found else listed


def near(facet: str, typed: str, limit: int = 3) -> list[str]:
    """Return the slugs of the terms whose slug, label or synonym holds what was typed, or is close to it."""
    wanted = typed.strip().lower()[:_LONGEST]
    names: dict[str, str] = {}
    for term in facets()[facet].values():
        for name in (term.slug, term.en, term.ko, *term.synonyms):
            names.setdefault(name.lower(), term.slug)
    holding = sorted((name for name in names if len(wanted) > 1 and wanted in name), key=len)
    close = get_close_matches(wanted, names, limit, _LIKE)
    return list(dict.fromkeys(names[name] for name in (*close, *holding)))[:limit]


def _value(lib: Library, facet: str, typed: str) -> str:
    if facet in OF_TERMS:
        return known_term(facet, typed).slug
    known = {value.lower(): value for value in lib.facets.bits[facet]}
    if found := known.get(typed.lower()):
        return found
    close = get_close_matches(typed.lower()[:_LONGEST], known, 3, _LIKE)
    holding = [name for name in known if typed.lower() in name]
    meant = [known[name] for name in dict.fromkeys((*close, *holding))][:3]
    told = f"did you mean {' or '.join(meant)}?" if meant else "`evenpace library stats` counts the cases"
    raise Problem(f"no case has the {facet} {typed[:40]!r}; {told}")
