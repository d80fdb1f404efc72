"""Gangs: live pods by the training that they belong to, and which of them wait for a node."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.gangs import active, belongs_to, gangs, unplaced, waiting_since
from evenpace.collect.snapshot import Snapshot

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


def cluster(*pods: Any) -> Cluster:
    return Cluster(Snapshot("kubernetes", "", NOW, {"pods": list(pods)}), ["pods"])


def pod(name: str = "a", phase: str = "Running", gpus: int = 8, **metadata: Any) -> dict[str, Any]:
    asked = {"resources": {"limits": {"nvidia.com/gpu": str(gpus)}}} if gpus else {}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ml", **metadata},
        "spec": {"containers": [asked]},
        "status": {"phase": phase},
    }


def owned(kind: str) -> list[dict[str, Any]]:
    return [{"kind": kind, "name": "train", "controller": True}]


@pytest.mark.parametrize(
    ("metadata", "name"),
    [
        ({"labels": {"jobset.sigs.k8s.io/jobset-name": "train"}, "ownerReferences": owned("Job")}, "JobSet"),
        (
            {"labels": {"training.kubeflow.org/job-name": "train"}, "ownerReferences": owned("PyTorchJob")},
            "PyTorchJob",
        ),
        ({"labels": {"volcano.sh/job-name": "train"}, "ownerReferences": owned("Job")}, "Job"),
        ({"labels": {"scheduling.x-k8s.io/pod-group": "train"}}, "PodGroup"),
        ({"annotations": {"scheduling.k8s.io/group-name": "train"}}, "PodGroup"),
    ],
)
def test_pods_are_gathered_by_the_mark_of_their_training(metadata: dict[str, Any], name: str) -> None:
    (gang,) = gangs(cluster(pod("a", **metadata), pod("b", **metadata)))
    assert (gang.name, len(gang.pods)) == (f"{name}/ml/train", 2)


def test_tasks_of_a_job_and_replicas_of_a_server_are_no_gang() -> None:
    one = pod(ownerReferences=owned("ReplicaSet"))
    two = pod(labels={"batch.kubernetes.io/job-name": "sweep"}, ownerReferences=owned("Job"))
    assert not list(gangs(cluster(one, two)))
    assert (belongs_to(one), belongs_to(pod())) == ("ReplicaSet/ml/train", "Pod/ml/a")


def test_what_ended_asks_for_nothing_or_is_being_deleted_is_left_out() -> None:
    gone = pod("gone", deletionTimestamp="2026-11-29T11:00:00Z")
    found = active(cluster(pod("a"), pod("done", "Succeeded"), pod("cpu", gpus=0), gone))
    assert [one["metadata"]["name"] for one in found] == ["a"]


def unscheduled(reason: str, **placed: str) -> dict[str, Any]:
    one = pod("w", "Pending", creationTimestamp="2026-11-29T09:00:00Z")
    told = {"type": "PodScheduled", "status": "False", "reason": reason, "message": "0/2 nodes", **placed}
    one["status"]["conditions"] = [told]
    return one


def test_only_pods_without_a_node_wait() -> None:
    asked = unscheduled("Unschedulable", lastTransitionTime="2026-11-29T10:00:00Z")
    assert waiting_since(asked) == datetime(2026, 11, 29, 10, tzinfo=UTC)
    assert waiting_since(unscheduled("Unschedulable")) == datetime(2026, 11, 29, 9, tzinfo=UTC)
    assert waiting_since(unscheduled("SchedulingGated")) is None
    assert waiting_since(pod()) is None
    assert unplaced(asked).source == "Pod/ml/w .status.conditions[PodScheduled].message"


@given(JSON)
def test_no_shape_raises(value: Any) -> None:
    odd = {"metadata": value, "spec": value, "status": value}
    list(gangs(cluster(odd, pod(labels=value, annotations=value, ownerReferences=value))))
    belongs_to(odd)
    waiting_since({"status": {"phase": "Pending", "conditions": value}})
