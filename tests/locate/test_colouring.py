"""Edge colouring: proper always, and with as few colours as promised."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from evenpace.locate.colouring import Pair, colour

EDGES = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=45)


def number(edges: list[Pair]) -> int:
    """Colour, check that it is proper and whole; return how many colours it took."""
    colours = colour(edges)
    assert set(colours) == {(min(edge), max(edge)) for edge in edges if edge[0] != edge[1]}
    at = Counter((vertex, one) for pair, one in colours.items() for vertex in pair)
    assert max(at.values(), default=1) == 1
    return max(colours.values(), default=-1) + 1


def degree(edges: list[Pair]) -> int:
    pairs = {(min(edge), max(edge)) for edge in edges if edge[0] != edge[1]}
    return max(Counter(vertex for pair in pairs for vertex in pair).values(), default=0)


@given(EDGES)
def test_any_graph_takes_at_most_one_colour_more_than_its_degree(edges: list[Pair]) -> None:
    assert degree(edges) <= number(edges) <= degree(edges) + 1


@given(EDGES)
def test_a_bipartite_graph_takes_its_degree(edges: list[Pair]) -> None:
    edges = [(2 * first, 2 * second + 1) for first, second in edges]
    assert number(edges) == degree(edges)


@given(st.lists(st.integers(0, 1000), max_size=60))
def test_a_tree_takes_its_degree(parents: list[int]) -> None:
    edges = [(place + 1, parent % (place + 1)) for place, parent in enumerate(parents)]
    assert number(edges) == degree(edges)


@given(st.integers(3, 60))
def test_a_ring_takes_two_or_three(size: int) -> None:
    assert number([(place, (place + 1) % size) for place in range(size)]) == 2 + size % 2


@given(st.integers(3, 11))
def test_a_complete_graph(size: int) -> None:
    edges = [(first, second) for first in range(size) for second in range(first)]
    assert number(edges) <= size


def test_sixteen_thousand_ranks_in_all_layouts_at_once() -> None:
    tensor, stages, replicas = 8, 16, 128

    def rank(t: int, p: int, d: int) -> int:
        return (d % replicas * stages + p) * tensor + t % tensor

    everyone = [(t, p, d) for t in range(tensor) for p in range(stages) for d in range(replicas)]
    edges = [(rank(t, p, d), rank(t + 1, p, d)) for t, p, d in everyone]
    edges += [(rank(t, p, d), rank(t, p, d + 1)) for t, p, d in everyone]
    edges += [(rank(t, p, d), rank(t, p + 1, d)) for t, p, d in everyone if p + 1 < stages]
    edges += [(one, (one + 1) % len(everyone)) for one in range(len(everyone))]
    edges += [(one, (one - 1) // 2) for one in range(1, len(everyone))]
    assert number(edges) <= degree(edges) + 1
