"""Runs: templates of one object together, what trains together, what containers are told."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.fields import dig
from evenpace.collect.kubernetes.kinds import GROUPS
from evenpace.collect.kubernetes.runs import (
    containers,
    hidden,
    joined,
    mentions,
    runs,
    several_nodes,
    training,
    variables,
)
from evenpace.collect.snapshot import Snapshot

WORKLOADS = GROUPS["workloads"]


def cluster(**kinds: list[Any]) -> Cluster:
    named = {kind.replace("_", ".", 1) if "_" in kind else kind: found for kind, found in kinds.items()}
    return Cluster(Snapshot("kubernetes", "", datetime(2026, 11, 29, tzinfo=UTC), named), WORKLOADS)


def pod(gpus: int = 8, **container: Any) -> dict[str, Any]:
    return {"containers": [{"resources": {"limits": {"nvidia.com/gpu": str(gpus)}}} | container]}


def job(pods: int = 2, **container: Any) -> dict[str, Any]:
    return {"kind": "Job", "spec": {"parallelism": pods, "template": {"spec": pod(**container)}}}


def mpijob() -> dict[str, Any]:
    launcher = {"containers": [{"command": ["mpirun", "-x", "NCCL_DEBUG=INFO"]}]}
    roles = {"Launcher": launcher, "Worker": pod()}
    specs = {role: {"replicas": 2, "template": {"spec": spec}} for role, spec in roles.items()}
    return {"kind": "MPIJob", "spec": {"mpiReplicaSpecs": specs}}


def test_templates_of_one_object_are_one_run() -> None:
    (run,) = runs(cluster(**{"mpijobs.kubeflow.org": [mpijob()]}))
    assert (len(run.parts), len(run.asking), run.pods, run.gpus) == (2, 1, 2, 16)
    assert joined(run)
    assert mentions(run, "NCCL_DEBUG")


def test_pods_of_a_job_train_together_only_where_something_shows_it() -> None:
    alone, together = runs(cluster(jobs_batch=[job(), job(command=["torchrun", "train.py"])]))
    assert not joined(alone)
    assert joined(together)


def test_notebooks_and_servers_are_no_training() -> None:
    server = {"kind": "StatefulSet", "spec": {"replicas": 2, "template": {"spec": pod()}}}
    found = cluster(pods=[{"kind": "Pod", "spec": pod()}], statefulsets_apps=[server], jobs_batch=[job()])
    assert [run.kind for run in training(found)] == ["jobs.batch"]
    assert len(list(runs(found))) == 3


def test_two_halves_of_a_node_may_share_one() -> None:
    halves, wholes = runs(cluster(jobs_batch=[job(gpus=4), job(gpus=8)]))
    assert not several_nodes(halves)
    assert several_nodes(wholes)


def test_paths_lead_to_what_was_read() -> None:
    env = [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {}}}]
    (run,) = runs(cluster(jobs_batch=[job(env=env)]))
    found = variables(run.asking[0])
    assert dig(run.object, *found["A"].path) == env[0]
    assert (found["A"].value, found["B"].value) == ("1", None)
    assert not hidden(run)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(JSON, JSON, JSON)
def test_any_shape_is_read(env: Any, command: Any, sources: Any) -> None:
    found = cluster(jobs_batch=[job(env=env, command=command, envFrom=sources)])
    for run in runs(found):
        joined(run)
        hidden(run)
        assert [variables(one) for one in run.asking]
        assert [list(containers(one)) for one in run.asking]
