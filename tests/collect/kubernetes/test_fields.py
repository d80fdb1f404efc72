from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.collect.kubernetes import evidence, fields, workloads
from evenpace.collect.kubernetes.kinds import GROUPS, KINDS, expanded

POD = {"spec": {"containers": [{"image": "x"}, "odd"], "n": 3, "on": True}, "metadata": {"name": "p"}}


def test_what_is_there_is_found() -> None:
    assert fields.text(POD, "spec", "containers", 0, "image") == "x"
    assert fields.number(POD, "spec", "n") == 3.0
    assert fields.flag(POD, "spec", "on") is True
    assert fields.items(POD, "spec", "containers") == ({"image": "x"},)
    assert fields.name(POD) == "p"


def test_what_is_not_there_or_of_another_shape_is_nothing() -> None:
    assert fields.text(POD, "spec", "containers", 7, "image") == ""
    assert fields.number(POD, "spec", "on") is None
    assert fields.flag(POD, "spec", "n") is None
    assert fields.items(POD, "spec", "n") == ()
    assert fields.table(None, "spec") == {}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("8", 8),
        ("100m", 0.1),
        ("2Ti", 2 * 1024**4),
        ("1e3", 1000),
        ("5G", 5e9),
        ("3E", 3e18),
        (4, 4),
        ("x", None),
        ("9" * 60, None),
    ],
)
def test_quantity(written: object, value: float | None) -> None:
    assert fields.quantity(written) == (None if value is None else pytest.approx(value))


def test_instant() -> None:
    assert fields.instant("2026-11-29T12:00:00Z") == datetime(2026, 11, 29, 12, tzinfo=UTC)
    assert fields.instant("yesterday") is None
    assert fields.instant(12) is None


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=15,
)


@given(ANY, st.lists(st.text() | st.integers(), max_size=4))
def test_nothing_raises_whatever_the_shape(value: Any, path: list[str | int]) -> None:
    for read in (fields.text, fields.number, fields.flag, fields.items, fields.strings, fields.table):
        read(value, *path)
    fields.quantity(value, *path)
    fields.instant(value, *path)
    fields.labels(value)
    fields.condition(value, "Ready")
    fields.owner(value)
    evidence.evidence(fields.table(value), *path)
    workloads.finished(fields.table(value))
    for kind in GROUPS["workloads"]:
        assert all(one.gpus >= 0 for one in workloads.templates(kind, fields.table(value)))


def test_groups_stand_for_known_kinds_and_secrets_are_none() -> None:
    assert set(expanded(GROUPS)) <= set(KINDS)
    assert not any(kind.kind == "Secret" for kind in KINDS.values())
