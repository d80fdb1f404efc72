"""Circles in a directed graph of ranks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def circle(edges: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """Return the vertices of one circle in order, or nothing where there is none; linear in the edges.

    Peels off, again and again, what has no successor left (Kahn); whoever stays has one that stays too.
    """
    successors: dict[int, set[int]] = {}
    predecessors: dict[int, set[int]] = {}
    for source, target in edges:
        successors.setdefault(source, set()).add(target)
        predecessors.setdefault(target, set()).add(source)
    free = [vertex for vertex in predecessors if vertex not in successors]
    while free:
        gone = free.pop()
        for vertex in predecessors.get(gone, ()):
            successors[vertex].discard(gone)
            if not successors[vertex]:
                del successors[vertex]
                free.append(vertex)
    return _walk(successors)


def _walk(successors: Mapping[int, set[int]]) -> tuple[int, ...]:
    """Follow successors among those that all have one, until a vertex comes again."""
    path: dict[int, None] = {}
    vertex = min(successors, default=None)
    while vertex is not None and vertex not in path:
        path[vertex] = None
        vertex = min(successors[vertex])
    order = list(path)
    return tuple(order[order.index(vertex) :]) if vertex is not None else ()
