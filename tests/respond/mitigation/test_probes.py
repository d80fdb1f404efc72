"""Measurements one after the other, of the links that a job uses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from evenpace.respond.mitigation.probes import PAUSE, Probes
from evenpace.watch.events import Probed

from .conftest import FakeProber

NODES = {rank: f"node{rank}" for rank in range(4)}


def rings(folder: Path, *groups: list[int]) -> dict[int, Path]:
    made = {rank: folder / f"node{rank}.{rank}.ring" for rank in range(4)}
    for rank, path in made.items():
        lines = [
            json.dumps({"key": key, "name": str(key), "ranks": ranks, "ns": 1})
            for key, ranks in enumerate(groups)
            if rank in ranks
        ]
        path.with_suffix(".groups").write_text("\n".join(lines))
    return made


def probes(prober: FakeProber) -> Probes:
    def make(incarnation: int, rings: Mapping[int, Path], nodes: Mapping[int, str]) -> FakeProber:
        return prober

    return Probes(make)


def answer(pause: float, failed: str = "") -> Probed:
    return Probed(
        time="2026-01-01T00:00:00.000Z", incarnation=0, step=1, pause=pause, passes=1, failed=failed
    )


@pytest.mark.parametrize(
    ("groups", "links"),
    [
        ([[0, 1, 2, 3]], [(0, 1), (1, 2), (2, 3), (3, 0)]),
        ([[0, 1, 2, 3], [0, 2], [1, 3]], [(0, 2), (1, 3), (2, 0), (3, 1)]),
        ([[0, 1, 2, 3], [0], [1]], [(0, 1), (1, 2), (2, 3), (3, 0)]),
        ([[0, 1], [2, 3], [0, 2], [1, 3]],
         [(0, 1), (0, 2), (1, 0), (1, 3), (2, 0), (2, 3), (3, 1), (3, 2)]),
        ([], []),
    ],
)  # fmt: skip
def test_links_of_groups_are_measured_but_not_of_those_for_control(
    tmp_path: Path, groups: list[list[int]], links: list[tuple[int, int]]
) -> None:
    prober = FakeProber()
    probes(prober).start(0, rings(tmp_path, *groups), NODES, healthy=True)
    (asked,) = prober.asked
    assert sorted(asked.links) == links
    assert (asked.ranks, asked.healthy) == ((0, 1, 2, 3), True)


def test_the_price_is_what_the_last_one_took(tmp_path: Path) -> None:
    prober = FakeProber()
    one = probes(prober)
    assert (one.price, one.begun, one.busy) == (PAUSE, False, False)
    one.start(0, rings(tmp_path), NODES, [(0, 1)])
    assert (one.begun, one.busy) == (True, True)
    prober.answer = answer(0.5)
    assert one.poll() is not None
    assert (one.price, one.busy) == (0.5, False)
    one.start(0, rings(tmp_path), NODES, [(0, 1)])
    prober.answer = answer(9.0, failed="nobody came")
    one.poll()
    assert one.price == 1.0, "one that failed must be worth more the next time"
