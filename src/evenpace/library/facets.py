"""Facets: how many of the matching cases carry each value, by bitsets.

Values of one facet are alternatives (OR), facets narrow each other (AND), and the counts of a facet ignore
its own filter, so that a user sees what another choice would give. A bitset is a Python integer whose bit n
is row n.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from evenpace.library import records
from evenpace.library.records import Incident

FACETS = (*records.FACETS, "organisation", "year", "scope")
Filters = Mapping[str, Sequence[str]]


def values(incident: Incident) -> Iterator[tuple[str, str]]:
    """Yield the (facet, value) pairs that a case carries."""
    for facet in records.FACETS:
        for slug in getattr(incident.terms, facet):
            yield facet, slug
    yield from (
        ("organisation", incident.organisation),
        ("year", str(incident.year)),
        ("scope", incident.scope),
    )


def bitset(rows: Iterable[int], size: int) -> int:
    """Return the set of `rows`, each below `size`."""
    marks = np.zeros(size, dtype=bool)
    marks[np.fromiter(rows, dtype=np.int64)] = True
    return int.from_bytes(np.packbits(marks, bitorder="little").tobytes(), "little")


def members(bits: int) -> Iterator[int]:
    """Yield the rows of a bitset in ascending order."""
    packed = np.frombuffer(bits.to_bytes((bits.bit_length() + 7) // 8, "little"), dtype=np.uint8)
    yield from np.flatnonzero(np.unpackbits(packed, bitorder="little")).tolist()


class FacetIndex:
    """Count and filter by the facets' values."""

    def __init__(self, incidents: Sequence[Incident]) -> None:
        rows: dict[str, dict[str, list[int]]] = {facet: defaultdict(list) for facet in FACETS}
        for row, incident in enumerate(incidents):
            for facet, value in values(incident):
                rows[facet][value].append(row)
        self.size = len(incidents)
        self.everything = (1 << self.size) - 1
        self.bits = {
            facet: {value: bitset(found, self.size) for value, found in sorted(of.items())}
            for facet, of in rows.items()
        }

    def allowed(self, filters: Filters, *, ignoring: str | None = None) -> int:
        """Return the rows that the filters leave, without the filter of facet `ignoring`."""
        left = self.everything
        for facet, chosen in filters.items():
            if chosen and facet != ignoring:
                left &= self._any(facet, chosen)
        return left

    def counts(self, matching: int, filters: Filters) -> dict[str, dict[str, int]]:
        """Count the values among the rows `matching`, facet by facet; values without a case are left out."""
        found: dict[str, dict[str, int]] = {}
        narrowed = matching & self.allowed(filters)
        for facet, of in self.bits.items():
            base = matching & self.allowed(filters, ignoring=facet) if filters.get(facet) else narrowed
            counted = ((value, (bits & base).bit_count()) for value, bits in of.items())
            found[facet] = {value: count for value, count in counted if count}
        return found

    def _any(self, facet: str, chosen: Sequence[str]) -> int:
        bits = 0
        for value in chosen:
            bits |= self.bits[facet].get(value, 0)
        return bits
