"""Who is slow from the start is told once, and forgotten when that is over."""

from __future__ import annotations

import numpy as np

from evenpace.detect.fromstart import CALM, WINDOW, FromStart
from evenpace.detect.growth import Stretch

NODES = {rank: f"node{rank // 2}" for rank in range(8)}


def stretch(slow: tuple[int, ...] = (), factor: float = 1.6) -> Stretch:
    busy = np.random.default_rng(0).normal(1.0, 0.005, (WINDOW, 8))
    busy[:, list(slow)] *= factor
    return Stretch(busy.max(axis=1), busy, busy.max(axis=1)[:, None] - busy, np.zeros_like(busy), {})


def followed() -> FromStart:
    return FromStart(range(8), ["same"] * 8, NODES)


def test_nobody_stands_out() -> None:
    assert followed().feed(stretch()) is None


def test_who_stands_out_is_told_once() -> None:
    one = followed()
    told = one.feed(stretch((5,)))
    assert told is not None
    verdict, ratio = told
    assert (verdict.culprits, round(ratio, 1)) == ((5,), 1.6)
    assert one.feed(stretch((5,))) is None


def test_several_are_told_only_where_they_share_a_node() -> None:
    told = followed().feed(stretch((4, 5)))
    assert told is not None
    assert told[0].culprits == (4, 5)
    assert followed().feed(stretch((1, 4))) is None


def test_it_is_over_after_some_calm_stretches() -> None:
    one = followed()
    one.feed(stretch((5,)))
    for _ in range(CALM):
        assert not one.over()
        one.feed(stretch())
    assert one.over()
    assert not one.over(), "it was forgotten"


def test_whoever_was_told_can_be_forgotten() -> None:
    one = followed()
    assert not one.forget()
    one.feed(stretch((5,)))
    assert one.forget()
