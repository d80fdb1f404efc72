"""Pools, taints and drift: who belongs together, who is kept out, and whether a difference is a rollout."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from evenpace.collect.kubernetes.pools import (
    cloud,
    cordoned_since,
    drift,
    in_service,
    pools,
    product,
    set_apart,
    usual_taints,
    young,
)

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
GPU = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}


def node(name: str, taints: list[Any] | None = None, **labels: str) -> dict[str, Any]:
    return {
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {key.replace("__", "/"): value for key, value in labels.items()},
            "creationTimestamp": "2026-10-01T00:00:00Z",
        },
        "spec": {"taints": taints or []},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }


def test_nodes_of_one_pool_and_another_machine_are_not_alike() -> None:
    groups = pools([node("a", nodepool="p"), node("b", nodepool="p"), node("c", nodepool="q")])
    assert [len(members) for members in groups.values()] == [2, 1]


@pytest.mark.parametrize(
    ("label", "named"),
    [
        ("NVIDIA-A100-SXM4-80GB-SHARED", "NVIDIA-A100-SXM4-80GB"),
        ("NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", "NVIDIA-A100-SXM4-80GB"),
        ("NVIDIA-H200", "NVIDIA-H200"),
    ],
)
def test_product_is_named_without_how_it_is_shared(label: str, named: str) -> None:
    one = node("a")
    one["metadata"]["labels"]["nvidia.com/gpu.product"] = label
    assert product(one) == named


def test_taint_that_most_nodes_have_is_what_the_pool_is_for() -> None:
    team = {"key": "team", "effect": "NoSchedule"}
    broken = {"key": "xid", "effect": "NoSchedule"}
    members = [node("a", [GPU, team]), node("b", [GPU, team]), node("c", [GPU, team, broken])]
    usual = usual_taints(members)
    assert [len(set_apart(one, usual)) for one in members] == [0, 0, 1]
    assert [in_service(one, usual) for one in members] == [True, True, False]


def test_in_a_pool_of_two_any_other_taint_keeps_pods_away() -> None:
    members = [
        node("a", [{"key": "xid", "effect": "NoExecute"}]),
        node("b", [{"key": "soft", "effect": "Prefer"}]),
    ]
    usual = usual_taints(members)
    assert [bool(set_apart(one, usual)) for one in members] == [True, False]


def test_time_of_a_cordon_is_that_of_its_taint() -> None:
    taint = {"key": "node.kubernetes.io/unschedulable", "timeAdded": "2026-11-29T10:00:00Z"}
    assert cordoned_since(node("a", [taint])) == NOW - timedelta(hours=2)
    assert cordoned_since(node("a")) is None


def test_drift_is_a_rollout_where_all_nodes_of_one_value_are_new() -> None:
    old, new = node("old"), node("new")
    versions = {"old": "1", "new": "2"}
    found = list(drift([old, new], lambda one: versions[one["metadata"]["name"]], NOW))
    assert (len(found[0].values), found[0].rolling) == (2, False)
    new["metadata"]["creationTimestamp"] = "2026-11-28T00:00:00Z"
    assert next(iter(drift([old, new], lambda one: versions[one["metadata"]["name"]], NOW))).rolling


def test_node_that_just_came_back_is_young() -> None:
    one = node("a")
    assert not young(one, NOW)
    one["status"]["conditions"][0]["lastTransitionTime"] = "2026-11-29T11:50:00Z"
    assert young(one, NOW)


def test_clouds_with_hidden_agents_are_known() -> None:
    one = node("a")
    assert cloud(one) == ""
    one["metadata"]["labels"]["cloud.google.com/gke-nodepool"] = "h100"
    assert cloud(one) == "GKE"
    one["metadata"]["labels"] = {"eks.amazonaws.com/compute-type": "auto"}
    assert cloud(one) == "EKS Auto Mode"
