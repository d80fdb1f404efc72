"""The public incidents that look like a finding, looked up when it is shown."""

from __future__ import annotations

from functools import cache

from evenpace.errors import Problem
from evenpace.findings import Finding, IncidentLink, Severity
from evenpace.library.catalogue import Library
from evenpace.library.similar import links


def alike(finding: Finding, lang: str) -> tuple[IncidentLink, ...]:
    """Return the finding's own incidents, or else the closest of the library; none for mere information."""
    if finding.incidents or finding.severity is Severity.INFO:
        return finding.incidents
    library = _library()
    return links(library, finding, lang) if library else ()


@cache
def _library() -> Library | None:
    try:
        return Library.open()
    except Problem:
        return None
