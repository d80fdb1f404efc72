"""Which checks a case stands behind: the way back from the library to what would have shown it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from evenpace.checks.catalogue import BadCheck, Check, Incident, checks


def citing(id_: str) -> tuple[tuple[Check, Incident], ...]:
    """Return the checks that cite a case, each with what it says of it."""
    return _index().get(id_, ())


@cache
def _index() -> Mapping[str, tuple[tuple[Check, Incident], ...]]:
    """Return case → checks; empty where a check cannot be read, which `evenpace audit` will tell."""
    found: dict[str, tuple[tuple[Check, Incident], ...]] = {}
    try:
        known = checks().values()
    except BadCheck:
        return found
    for check in known:
        for one in check.content.incident:
            found[one.id] = (*found.get(one.id, ()), (check, one))
    return found
