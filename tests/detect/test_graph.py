from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from evenpace.detect.graph import circle

vertices = st.integers(0, 12)


@settings(deadline=None)
@given(st.lists(st.tuples(vertices, vertices), max_size=40))
def test_what_is_returned_is_a_circle(edges):
    found = circle(edges)
    assert all(edge in edges for edge in zip(found, found[1:] + found[:1], strict=True))
    assert len(set(found)) == len(found)


@settings(deadline=None)
@given(st.lists(st.tuples(vertices, vertices), max_size=40))
def test_edges_downwards_have_none(edges):
    assert circle([(a, b) for a, b in edges if a > b]) == ()


@settings(deadline=None)
@given(st.lists(vertices, min_size=1, max_size=8, unique=True), st.lists(st.tuples(vertices, vertices)))
def test_one_is_found_where_there_is_one(ring, others):
    assert circle([*zip(ring, ring[1:] + ring[:1], strict=True), *others])


def test_long_chains():
    assert circle((rank, rank + 1) for rank in range(5000)) == ()
    assert len(circle((rank, (rank + 1) % 5000) for rank in range(5000))) == 5000
