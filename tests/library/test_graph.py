"""The graph's counts and lifts equal a brute-force count."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from tests.library.cases import libraries

from evenpace.library.catalogue import Library, Query
from evenpace.library.graph import graph
from evenpace.library.records import FACETS, Incident


def keys(one: Incident) -> set[str]:
    return {f"{facet}:{slug}" for facet in FACETS for slug in getattr(one.terms, facet)}


@given(libraries())
def test_counts_and_lift_equal_brute_force(library: Library) -> None:
    made = graph(library, Query(), least=1)
    carried = [keys(one) for one in library.incidents]
    count = {node.key: node.count for node in made.nodes}
    assert count == {key: sum(key in one for one in carried) for key in set().union(*carried)}
    for edge in made.edges:
        both = sum({edge.one, edge.other} <= one for one in carried)
        assert edge.count == both
        assert edge.lift == pytest.approx(
            both * len(carried) / (count[edge.one] * count[edge.other]), abs=0.01
        )
    pairs = {frozenset(pair) for one in carried for pair in combinations(one, 2)}
    assert len(made.edges) == min(250, len(pairs))


def test_filters_apply_and_few_cases_are_named(real: Library) -> None:
    made = graph(real, Query("", {"component": ("gpu-hw",), "symptom": ("gpu-not-visible",)}))
    assert made.total == len(made.cases)
    assert all("gpu-hw" in one.terms.component for one in made.cases)
    assert graph(real, Query()).cases == ()
