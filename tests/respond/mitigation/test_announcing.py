"""Offers are read with suspicion; a plan is put there whole."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evenpace.respond.mitigation.announcing import (
    MOST_IN_PIPELINE,
    Offers,
    announce,
    announced,
    read_header,
    read_offers,
)
from evenpace.respond.strategies import Estimate, MicroBatchOffer, PositionOffer

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 99) | st.text(max_size=5) | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["microbatches", "positions", "total", "replicas", "ranks", "bytes", "pipeline", "data"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    return tmp_path / "node0.1.ring"


def offer(ring: Path, said: object) -> Offers:
    ring.with_suffix(".offer").write_text(said if isinstance(said, str) else json.dumps(said))
    return read_offers(ring)


def test_what_a_loop_offers_is_read(ring: Path) -> None:
    said = {
        "microbatches": {"total": 8, "replicas": [[0, 1], [2, 3]]},
        "positions": {"pipeline": 2, "data": 2, "ranks": [0, 2, 1, 3], "bytes": [10, 20], "micro_batches": 4},
    }
    assert offer(ring, said) == Offers(
        MicroBatchOffer(8, ((0, 1), (2, 3))), PositionOffer(2, 2, (0, 2, 1, 3), (10, 20), 4)
    )


@pytest.mark.parametrize(
    "said",
    [
        "",
        "{",
        "[" * 100_000,
        [],
        {"microbatches": []},
        {"microbatches": {"total": 1, "replicas": [[0], [1]]}},
        {"microbatches": {"total": 4, "replicas": []}},
        {"microbatches": {"total": "many", "replicas": [[0]]}},
        {"positions": {"pipeline": 2, "data": 2, "ranks": [0, 0, 1, 3], "bytes": [1, 1]}},
        {"microbatches": {"total": 1e999, "replicas": [[0]]}},
        {"microbatches": {"total": 10**30, "replicas": [[0], [1]]}},
        {"microbatches": {"total": 4, "replicas": [[0], []]}},
        {"positions": {"pipeline": 2, "data": 2, "ranks": [0, 1, 2, 3], "bytes": [1]}},
        {"positions": {"pipeline": 2, "data": 2, "ranks": [0, 1, 2, 3], "bytes": [1, 10**400]}},
        {"positions": {"pipeline": 2, "data": 2, "ranks": [0, 1, 2, 3], "bytes": [1, -1]}},
        {"positions": {"pipeline": 10**9, "data": 10**9, "ranks": [0], "bytes": [1]}},
        {"positions": {"pipeline": 0, "data": 0, "ranks": [], "bytes": []}},
    ],
)
def test_an_unsound_offer_is_none(ring: Path, said: object) -> None:
    assert offer(ring, said) == Offers()


def test_a_pipeline_is_reckoned_with_no_more_micro_batches_than_can_be(ring: Path) -> None:
    said = {"pipeline": 1, "data": 1, "ranks": [0], "bytes": [1], "micro_batches": 10**9}
    found = offer(ring, {"positions": said}).positions
    assert found is not None
    assert found.micro_batches == MOST_IN_PIPELINE


def test_no_offer_is_none(ring: Path) -> None:
    assert read_offers(ring) == Offers()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(said=JSON)
def test_nothing_that_a_loop_says_raises(ring: Path, said: object) -> None:
    assert isinstance(offer(ring, said), Offers)


def test_a_plan_replaces_the_one_before_and_leaves_nothing_beside_it(ring: Path) -> None:
    announce(ring, 1, Estimate(0.0, 1.0, counts=(3, 5)))
    announce(ring, 2, Estimate(0.0, 1.0, positions=(1, 0)))
    assert json.loads(ring.with_suffix(".plan").read_text()) == {"version": 2, "positions": [1, 0]}
    assert [path.name for path in ring.parent.iterdir()] == ["node0.1.plan"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": -1}', '{"version": "3"}', '{"version": 1e999}'])
def test_what_was_handed_last_counts_where_it_is_a_plan(ring: Path, text: str) -> None:
    assert announced(ring) == 0
    announce(ring, 5, Estimate(0.0, 1.0, counts=(1,)))
    assert announced(ring) == 5
    ring.with_suffix(".plan").write_text(text)
    assert announced(ring) == 0


def test_pipes_are_not_waited_for(ring: Path) -> None:
    paths = [ring, *(ring.with_suffix(suffix) for suffix in (".offer", ".plan", ".plan.new"))]
    for path in paths:
        os.mkfifo(path)
    assert (read_header(ring), read_offers(ring), announced(ring)) == (None, Offers(), 0)
    announce(ring, 1, Estimate(0.0, 1.0, counts=(3, 5)))
    assert announced(ring) == 1


def test_a_ring_that_is_none_has_no_header(ring: Path) -> None:
    assert read_header(ring) is None
    ring.write_bytes(b"no ring")
    assert read_header(ring) is None
