"""Facet counts equal a brute-force count, on random libraries and on the real one."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st
from tests.library.cases import libraries

from evenpace.library.catalogue import Library, Query
from evenpace.library.facets import FACETS, bitset, members, values
from evenpace.library.records import Incident

Filters = dict[str, tuple[str, ...]]


def fits(one: Incident, filters: Filters, ignoring: str | None = None) -> bool:
    carried = set(values(one))
    return all(
        any((facet, value) in carried for value in chosen)
        for facet, chosen in filters.items()
        if chosen and facet != ignoring
    )


def brute_force(found: list[Incident], filters: Filters) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {facet: {} for facet in FACETS}
    for one in found:
        for facet, value in values(one):
            if fits(one, filters, ignoring=facet):
                counts[facet][value] = counts[facet].get(value, 0) + 1
    return counts


def check(library: Library, text: str, filters: Filters) -> None:
    found = [one for one in library.incidents if not text or one in with_words(library, text)]
    result = library.search(Query(text, filters), limit=10_000)
    assert result.counts == brute_force(found, filters)
    assert result.total == len(result.incidents) == sum(fits(one, filters) for one in found)
    assert {one.id for one in result.incidents} == {one.id for one in found if fits(one, filters)}


def with_words(library: Library, text: str) -> list[Incident]:
    return [library.incidents[row] for row in members(library.matching(Query(text)))]


def filters_of(library: Library, dice: random.Random) -> Filters:
    everything = sorted({pair for one in library.incidents for pair in values(one)})
    chosen: Filters = {}
    for facet, value in dice.sample(everything, min(len(everything), dice.randint(0, 5))):
        chosen[facet] = (*chosen.get(facet, ()), value)
    return chosen


@given(libraries(), st.integers(0, 10**6), st.sampled_from(["", "loss spike", "학습", "NCCL", "nowhere"]))
def test_counts_equal_brute_force_on_random_libraries(library: Library, seed: int, text: str) -> None:
    check(library, text, filters_of(library, random.Random(seed)))


@given(st.integers(0, 10**6), st.sampled_from(["", "NCCL", "학습", "checkpoint", "Xid 79", "처리량 급락"]))
def test_counts_equal_brute_force_on_the_real_library(real: Library, seed: int, text: str) -> None:
    check(real, text, filters_of(real, random.Random(seed)))


@given(st.sets(st.integers(0, 300)))
def test_a_bitset_keeps_its_rows(rows: set[int]) -> None:
    assert list(members(bitset(rows, 301))) == sorted(rows)


def test_an_unknown_value_finds_nothing(real: Library) -> None:
    assert real.search(Query("", {"cause": ("nowhere",)})).total == 0
