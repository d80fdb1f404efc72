"""Tolerations of dead nodes: what a pod says, what the API server adds, for ever."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.tolerations import DEAD, default_wait, wait
from evenpace.collect.snapshot import Snapshot


def tolerating(seconds: int, *taints: str) -> list[dict[str, Any]]:
    rest = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}
    return [{"key": taint, **rest} for taint in taints]


@pytest.mark.parametrize(
    ("tolerations", "seconds"),
    [
        ([], 300.0),
        (tolerating(30, *DEAD), 30.0),
        (tolerating(30, DEAD[0]), 300.0),
        (tolerating(-5, *DEAD), 0.0),
        ([{"operator": "Exists"}], math.inf),
        ([{"operator": "Exists", "effect": "NoSchedule"}], 300.0),
        ([{"operator": "Exists"}, *tolerating(60, *DEAD)], 60.0),
        ([{"key": "nvidia.com/gpu", "operator": "Exists"}], 300.0),
    ],
)
def test_wait(tolerations: list[dict[str, Any]], seconds: float) -> None:
    assert wait({"tolerations": tolerations}, 300.0) == seconds


def pods(*waits: int) -> Cluster:
    found = [{"spec": {"tolerations": tolerating(seconds, *DEAD)}} for seconds in waits]
    return Cluster(Snapshot("kubernetes", "", datetime(2026, 11, 29, tzinfo=UTC), {"pods": found}), ["pods"])


def test_default_is_what_most_pods_have() -> None:
    assert default_wait(pods(60, 60, 300)) == 60.0
    assert default_wait(pods()) == 300.0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(JSON)
def test_any_shape_is_read(tolerations: Any) -> None:
    assert wait({"tolerations": tolerations}, 300.0) >= 0.0
