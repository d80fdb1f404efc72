"""The graph of terms: which occur together in the cases of an answer, and how much more than by chance."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from evenpace.library.catalogue import Library, Query
from evenpace.library.facets import members
from evenpace.library.records import FACETS, Incident

MOST_CASES = 24
MOST_EDGES = 250


@dataclass(frozen=True, slots=True)
class Node:
    """Stand for a term that `count` of the cases carry."""

    facet: str
    slug: str
    count: int

    @property
    def key(self) -> str:
        """Return the name that edges use."""
        return f"{self.facet}:{self.slug}"


@dataclass(frozen=True, slots=True)
class Edge:
    """Say that `count` cases carry both terms (keys), `lift` times as often as if they were independent."""

    one: str
    other: str
    count: int
    lift: float


@dataclass(frozen=True, slots=True)
class Graph:
    """Hold the terms of an answer and their edges, strongest first; `cases` only where they are few."""

    total: int
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    cases: tuple[Incident, ...]


def graph(library: Library, query: Query, *, least: int = 2, most: int = MOST_EDGES) -> Graph:
    """Return the graph of the cases that `query` finds: at most `most` edges of at least `least` cases.

    Lift is P(a, b) / (P(a) P(b)) over these cases, so that a frequent term is not tied to everything.
    """
    matching = library.matching(query)
    total = matching.bit_count()
    sets = {
        Node(facet, slug, count): bits & matching
        for facet in FACETS
        for slug, bits in library.facets.bits[facet].items()
        if (count := (bits & matching).bit_count())
    }
    edges = [
        Edge(one.key, other.key, both, round(both * total / (one.count * other.count), 2))
        for (one, of_one), (other, of_other) in combinations(sets.items(), 2)
        if (both := (of_one & of_other).bit_count()) >= least
    ]
    edges.sort(key=lambda edge: (-edge.count, -edge.lift, edge.one, edge.other))
    few = total <= MOST_CASES
    return Graph(
        total=total,
        nodes=tuple(sorted(sets, key=lambda node: (-node.count, node.key))),
        edges=tuple(edges[:most]),
        cases=tuple(library.incidents[row] for row in members(matching)) if few else (),
    )
