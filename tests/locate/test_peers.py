"""What is to be expected of a measurement."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.locate.peers import Peers, level, peers


def test_one_is_compared_with_the_others_of_its_kind() -> None:
    found = peers([1.0, 2.0, 3.0, 40.0], ["a", "a", "a", "b"])
    assert [one.median for one in found] == [2.5, 2.0, 1.5, None]


def test_few_peers_show_no_spread_and_more_do() -> None:
    assert peers([1.0, 1.1, 1.2, 1.3], ["a"] * 4)[0].spread == 0.0
    assert peers([1.0, 1.0, 1.1, 1.2, 1.3], ["a"] * 5)[0].spread > 0.0


def test_among_many_all_are_peers() -> None:
    found = peers([1.0] * 64 + [2.0], ["a"] * 65)
    assert found == [found[0]] * 65
    assert found[0].median == 1.0


def test_the_lower_of_peers_and_health_is_expected() -> None:
    assert level(Peers(2.0), 1.5, 9.0, 1.2).expected == 1.5
    assert level(Peers(2.0), None, 9.0, 1.2).expected == 2.0
    assert level(Peers(), None, 9.0, 1.2).expected == 9.0


def test_peers_that_differ_widen_the_limit() -> None:
    usual = level(Peers(1.0, spread=0.1), None, 1.0, 1.2)
    assert usual.limit == pytest.approx(1.6)
    assert (usual.slow(1.5), usual.slow(1.7)) == (False, True)


@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=80))
def test_without_a_difference_nobody_is_slow(values: list[float]) -> None:
    same = [values[0]] * len(values)
    found = peers(same, ["a"] * len(values))
    assert not any(level(one, None, own, 1.2).slow(own) for one, own in zip(found, same, strict=True))
