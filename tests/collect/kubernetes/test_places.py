"""Places: which nodes take a pod, what joins them, which runs ask to be close, where they write."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.places import Places, nvlink, rdma
from evenpace.collect.kubernetes.runs import Run, runs
from evenpace.collect.kubernetes.topology import asks_for_place
from evenpace.collect.kubernetes.volumes import disk, mounts, on_one_node, shared_in_pod
from evenpace.collect.snapshot import Snapshot

LEAF = "network.topology.nvidia.com/leaf"


def node(name: str, gpus: int, **labels: str) -> dict[str, Any]:
    offered = {"nvidia.com/gpu": str(gpus)} | ({"rdma/ib": "1k"} if gpus == 8 else {"rdma/ib": "0"})
    return {
        "metadata": {"name": name, "labels": labels},
        "status": {"capacity": offered, "allocatable": offered},
    }


def run_of(*nodes: dict[str, Any], **spec: Any) -> tuple[Cluster, Run]:
    container = {"resources": {"limits": {"nvidia.com/gpu": "8"}}} | spec.pop("container", {})
    pod = {"containers": [container, *spec.pop("others", [])], **spec}
    job = {"kind": "Job", "spec": {"parallelism": 2, "template": {"spec": pod}}}
    kinds = {"nodes": list(nodes), "jobs.batch": [job]}
    found = Cluster(Snapshot("kubernetes", "", datetime(2026, 11, 29, tzinfo=UTC), kinds), list(kinds))
    return found, next(runs(found))


def test_nodes_that_take_a_pod() -> None:
    nodes = node("a", 8, pool="x"), node("b", 16, pool="x"), node("c", 4, pool="x"), node("d", 8, pool="y")
    cluster, run = run_of(*nodes, nodeSelector={"pool": "x"})
    places = Places(cluster)
    assert [one["metadata"]["name"] for one in places.nodes(run.asking[0])] == ["a", "b"]
    assert [one["metadata"]["name"] for one in places.nodes(run.asking[0], whole=True)] == ["a"]
    assert places.all_have(run.asking[0], rdma, whole=True)
    assert not places.all_have(run.asking[0], rdma)


@pytest.mark.parametrize(
    ("product", "joined"),
    [
        ("NVIDIA-H100-80GB-HBM3", True),
        ("NVIDIA-A100-SXM4-80GB", True),
        ("NVIDIA-GB200", True),
        ("NVIDIA-A100-80GB-PCIe", False),
        ("NVIDIA-H100-NVL", False),
        ("NVIDIA-H100-80GB-HBM3-MIG-1g.10gb", False),
        ("NVIDIA-GeForce-RTX-4090", False),
        ("", False),
    ],
)
def test_nvlink(product: str, joined: bool) -> None:
    assert nvlink(node("a", 8, **{"nvidia.com/gpu.product": product})) is joined


RULES = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
REQUIRED = {RULES[0]: {"nodeSelectorTerms": [{"matchExpressions": [{"key": LEAF}]}]}}
PREFERRED = {RULES[1]: [{"preference": {"matchExpressions": [{"key": LEAF}]}}]}


@pytest.mark.parametrize(
    ("spec", "asks"),
    [
        ({}, False),
        ({"nodeSelector": {LEAF: "l1"}}, True),
        ({"affinity": {"nodeAffinity": REQUIRED}}, True),
        ({"affinity": {"nodeAffinity": PREFERRED}}, True),
        ({"affinity": {"podAffinity": {RULES[1]: [{"weight": 1}]}}}, True),
        ({"affinity": {"podAntiAffinity": {RULES[1]: [{"weight": 1}]}}}, False),
        ({"topologySpreadConstraints": [{"topologyKey": LEAF}]}, True),
        ({"topologySpreadConstraints": [{"topologyKey": "kubernetes.io/hostname"}]}, False),
        ({"schedulingGates": [{"name": "gke.io/topology"}]}, True),
        ({"schedulerName": "default-scheduler"}, False),
        ({"schedulerName": "kai-scheduler"}, True),
    ],
)
def test_who_asks_for_a_place(spec: dict[str, Any], asks: bool) -> None:
    assert asks_for_place(run_of(**spec)[1]) is asks


def test_mounts_that_are_written_to() -> None:
    volumes = [{"name": name, "emptyDir": {}} for name in ("ckpt", "data", "gone")]
    mounted = [
        {"name": "ckpt", "mountPath": "/out"},
        {"name": "data", "mountPath": "/data", "readOnly": True},
        {"name": "unknown", "mountPath": "/x"},
    ]
    other = {"name": "copy", "volumeMounts": [{"name": "ckpt", "mountPath": "/in"}]}
    _, run = run_of(container={"volumeMounts": mounted}, volumes=volumes, others=[other])
    (found,) = mounts(run.asking[0])
    assert (found.where, found.for_checkpoints, found.claim) == ("/out", True, "")
    assert shared_in_pod(run.asking[0], volumes[0])
    assert not shared_in_pod(run.asking[0], volumes[1])


@pytest.mark.parametrize(
    ("spec", "attached", "local"),
    [
        ({"csi": {"driver": "ebs.csi.aws.com"}}, True, False),
        ({"csi": {"driver": "rook-ceph.rbd.csi.ceph.com"}}, True, False),
        ({"csi": {"driver": "efs.csi.aws.com"}}, False, False),
        ({"gcePersistentDisk": {"pdName": "x"}}, True, False),
        ({"local": {"path": "/mnt/disks/0"}}, False, True),
        ({"csi": {"driver": "topolvm.io"}}, False, True),
        ({"nfs": {"server": "x"}}, False, False),
    ],
)
def test_volumes_of_one_node(spec: dict[str, Any], attached: bool, local: bool) -> None:
    assert (disk({"spec": spec}), on_one_node({"spec": spec})) == (attached, local)
