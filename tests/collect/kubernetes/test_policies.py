"""Policies: what manifests say about failures, evictions and a varying number of pods."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.collect.kubernetes.policies import (
    elastic,
    elastic_pod,
    knows_disruptions,
    restarts_uncounted,
)
from evenpace.collect.kubernetes.runs import Run
from evenpace.collect.kubernetes.workloads import templates

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


def jobset(action: str) -> dict[str, Any]:
    return {"spec": {"failurePolicy": {"rules": [{"action": "FailJobSet"}, {"action": action}]}}}


@pytest.mark.parametrize(
    ("action", "uncounted"),
    [
        ("RestartJobSet", False),
        ("RestartJob", False),
        ("RestartJobSetAndIgnoreMaxRestarts", True),
        ("RestartJobAndIgnoreMaxRestarts", True),
    ],
)
def test_rules_that_start_a_jobset_again_without_counting(action: str, uncounted: bool) -> None:
    assert restarts_uncounted(jobset(action)) is uncounted


def test_a_rule_on_exit_codes_knows_no_disruptions() -> None:
    codes = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
    evicted = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
    assert not knows_disruptions({"podFailurePolicy": {"rules": [codes]}})
    assert knows_disruptions({"podFailurePolicy": {"rules": [codes, evicted]}})


def pod(*args: str, **env: str) -> dict[str, Any]:
    variables = [{"name": name, "value": value} for name, value in env.items()]
    return {"containers": [{"command": ["sh", "-c"], "args": list(args), "env": variables}]}


@pytest.mark.parametrize(
    ("spec", "varies"),
    [
        (pod("torchrun --nnodes=2:4 train.py"), True),
        (pod("torchrun", "--nnodes", "2:4"), True),
        (pod("horovodrun", "--min-np", "2"), True),
        (pod("train.py", PET_NNODES="1:8"), True),
        (pod("torchrun --nnodes=4 --rdzv-endpoint=head:29500"), False),
        (pod("train.py", PET_NNODES="8"), False),
        (pod(), False),
    ],
)
def test_launchers_that_take_a_varying_number_of_pods(spec: dict[str, Any], varies: bool) -> None:
    assert elastic_pod(spec) is varies


def test_the_operator_is_told_how_few_pods_do() -> None:
    def run(least: int, most: int) -> Run:
        policy = {"minReplicas": least, "maxReplicas": most}
        one = {"spec": {"elasticPolicy": policy, "pytorchReplicaSpecs": {"Worker": {"replicas": 4}}}}
        kind = "pytorchjobs.kubeflow.org"
        return Run(kind, one, tuple(templates(kind, one)))

    assert elastic(run(2, 4))
    assert not elastic(run(4, 4))


@given(JSON)
def test_no_shape_raises(value: Any) -> None:
    restarts_uncounted({"spec": value})
    knows_disruptions({"podFailurePolicy": value})
    elastic_pod({"containers": [value, {"args": value, "env": value}]})
