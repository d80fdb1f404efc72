"""What checks see of a cluster: declared kinds alone, and what they share is worked out once a snapshot."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.workloads import gpu_nodes
from evenpace.collect.snapshot import Snapshot


def node(name: str) -> dict[str, object]:
    return {"metadata": {"name": name}, "status": {"capacity": {"nvidia.com/gpu": "8"}}}


SNAPSHOT = Snapshot("kubernetes", "", datetime(2026, 1, 1, tzinfo=UTC), {"nodes": (node("a"), node("b"))})


def test_what_checks_share_is_worked_out_once() -> None:
    first, second = (Cluster(SNAPSHOT, ["nodes"]) for _ in range(2))
    assert len(gpu_nodes(first)) == 2
    assert gpu_nodes(first) is gpu_nodes(second)


def test_another_snapshot_shares_nothing() -> None:
    other = replace(SNAPSHOT, kinds={"nodes": (node("c"),)})
    assert len(gpu_nodes(Cluster(SNAPSHOT, ["nodes"]))) == 2
    assert len(gpu_nodes(Cluster(other, ["nodes"]))) == 1


def test_what_is_shared_must_be_declared_too() -> None:
    gpu_nodes(Cluster(SNAPSHOT, ["nodes"]))
    with pytest.raises(LookupError):
        gpu_nodes(Cluster(SNAPSHOT, ["pods"]))
