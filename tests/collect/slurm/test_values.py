from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.collect.slurm import values

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
READERS = [
    values.plain,
    values.words,
    values.integer,
    values.instant,
    values.span,
    values.minutes,
    values.states,
]


@given(JSON)
def test_no_value_of_any_shape_raises(value: Any) -> None:
    for read in READERS:
        read(value)


@given(st.text())
def test_no_text_of_resources_raises(written: str) -> None:
    values.gpus(written)
    values.tres_gpus(written)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (5, 5),
        ("5", 5),
        (None, None),
        (0xFFFFFFFE, None),
        ({"set": True, "infinite": False, "number": 5}, 5),
        ({"set": False, "infinite": False, "number": 0}, None),
        ({"set": True, "infinite": True, "number": 0}, None),
        (True, None),
        ("٣", None),
    ],
)
def test_numbers_of_all_versions(value: Any, number: int | None) -> None:
    assert values.integer(value) == number


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("2026-11-30T15:14:18", datetime(2026, 11, 30, 15, 14, 18, tzinfo=UTC)),
        (1796051658, datetime(2026, 11, 30, 15, 14, 18, tzinfo=UTC)),
        (
            {"set": True, "infinite": False, "number": 1796051658},
            datetime(2026, 11, 30, 15, 14, 18, tzinfo=UTC),
        ),
        ("Unknown", None),
        (0, None),
        (1e30, None),
    ],
)
def test_times_of_all_versions(value: Any, found: datetime | None) -> None:
    assert values.instant(value) == found


@pytest.mark.parametrize(
    ("written", "found"),
    [
        (("IDLE+DRAIN",), ("IDLE", "DRAIN")),
        (("idle", ["DRAIN"]), ("IDLE", "DRAIN")),
        ((["DOWN", "NOT_RESPONDING"],), ("DOWN", "NOT_RESPONDING")),
        (("DOWN*",), ("DOWN", "NOT_RESPONDING")),
        (("IDLE*+DRAIN",), ("IDLE", "NOT_RESPONDING", "DRAIN")),
        (("CANCELLED by 1000",), ("CANCELLED",)),
        ((None,), ()),
    ],
)
def test_states_of_all_versions(written: tuple[Any, ...], found: tuple[str, ...]) -> None:
    assert values.states(*written) == found


@pytest.mark.parametrize(
    ("gres", "count"),
    [
        ("gpu:h200:8", 8),
        ("gpu:h200:8(S:0-1),shard:16", 8),
        ("gpu:8", 8),
        ("gpu:a100:4,gpu:v100:2(S:0,1)", 6),
        ("gres:gpu:h200:8", 8),
        ("gres/gpu:h200=8", 8),
        ("gpu:h200", 1),
        ("gpu:h200:3(IDX:0-1,5)", 3),
        ("(null)", 0),
    ],
)
def test_gpus_of_a_node(gres: str, count: int) -> None:
    assert values.gpus(gres) == count


@pytest.mark.parametrize(
    ("tres", "count"),
    [
        ("cpu=2,mem=2000M,gres/gpu=16,gres/gpu:h200=16", 16),
        ("cpu=2,gres/gpu:a100=4,gres/gpu:v100=2", 6),
        ("cpu=2,mem=2000M", None),
        ("", None),
    ],
)
def test_gpus_of_accounted_resources(tres: str, count: int | None) -> None:
    assert values.tres_gpus(tres) == count
