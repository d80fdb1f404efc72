"""Links in use, their passes, and which of them are slow."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.locate.links import Edge, LinkTime, judge_links, links_in_use, passes, ring_links

LINKS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=50)
UP_A_TREE = [(place, (place - 1) // 2) for place in range(1, 1024)]
DOWN_A_PIPELINE = [(stage, stage + 1) for stage in range(15)]


def both_ways(links: list[Edge]) -> list[Edge]:
    return links + [link[::-1] for link in links]


@given(LINKS)
def test_each_link_has_one_turn_and_each_rank_one_transfer_in_it(links: list[Edge]) -> None:
    plan = passes(links)
    assert sorted(link for turn in plan for link in turn) == sorted(
        {one for one in links if one[0] != one[1]}
    )
    for turn in plan:
        assert max(Counter(rank for link in turn for rank in link).values()) == 1


@pytest.mark.parametrize(
    ("links", "number"),
    [
        (ring_links(range(8)), 2),
        (ring_links(range(64)), 2),
        (ring_links(range(16384)), 2),
        (ring_links(range(7)), 3),
        (ring_links([0, 1]), 2),
        (UP_A_TREE, 3),
        (both_ways(UP_A_TREE), 6),
        (DOWN_A_PIPELINE, 2),
        (both_ways(DOWN_A_PIPELINE), 4),
        ([], 0),
    ],
)
def test_how_many_passes(links: list[Edge], number: int) -> None:
    assert len(passes(links)) == number


def test_links_of_rings_and_pairs() -> None:
    used = links_in_use([(0, 1, 2), (3,), (0, 2)], [(4, 5), (5, 5)])
    assert used == [(0, 1), (0, 2), (1, 2), (2, 0), (4, 5)]


def times(*seconds: float, turn: int = 0) -> list[LinkTime]:
    return [LinkTime((2 * place, 2 * place + 1), value, turn) for place, value in enumerate(seconds)]


def slow(measured: list[LinkTime], healthy: dict[Edge, float] | None = None, **kinds: object) -> set[Edge]:
    return {one.link for one in judge_links(measured, healthy or {}, **kinds) if one.slow}  # type: ignore[arg-type]


def test_a_link_slower_than_its_peers_is_slow() -> None:
    assert slow(times(1.0, 1.1, 1.7, 0.9)) == {(4, 5)}
    assert slow(times(1.0, 1.1, 1.3, 0.9)) == set()


def test_peers_are_those_of_the_same_pass_where_it_has_enough() -> None:
    other = [LinkTime((20 + 2 * place, 21 + 2 * place), 3.0, turn=1) for place in range(4)]
    assert slow(times(1.0, 1.1, 1.0, 0.9) + other) == set()
    assert slow(times(1.0, 1.1, 1.0, 0.9) + other[:1]) == {other[0].link}


def test_where_peers_differ_anyway_it_takes_more() -> None:
    assert slow(times(1.0, 1.4, 0.7, 1.2, 0.6, 1.9)) == set()
    assert slow(times(1.0, 1.4, 0.7, 1.2, 0.6, 9.0)) == {(10, 11)}


def test_when_all_are_slow_only_health_tells() -> None:
    measured = times(3.0, 3.0, 3.0, 3.0)
    assert slow(measured) == set()
    assert slow(measured, {(2, 3): 1.0}) == {(2, 3)}


def test_alone_and_never_measured_in_health_nothing_is_slow() -> None:
    (verdict,) = judge_links(times(5.0), {})
    assert (verdict.slow, verdict.expected, verdict.ratio) == (False, 5.0, 1.0)
    assert judge_links([], {}) == []


def test_links_of_another_kind_are_no_peers() -> None:
    measured = times(1.0, 1.0, 9.0)
    assert slow(measured) == {(4, 5)}
    assert slow(measured, kinds={(4, 5): "between nodes"}) == set()


def test_sixteen_thousand_links() -> None:
    measured = [LinkTime(link, 1.0 + link[0] % 7 / 70, link[0] % 2) for link in ring_links(range(16384))]
    measured[77] = LinkTime(measured[77].link, 2.5, measured[77].turn)
    assert slow(measured) == {(77, 78)}
