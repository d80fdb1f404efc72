"""Selectors and placing as Kubernetes does them."""

from __future__ import annotations

from typing import Any

import pytest

from evenpace.collect.kubernetes.matching import daemon_runs_on, matches

LABELS = {"app": "dcgm", "tier": "gpu", "cores": "96"}


@pytest.mark.parametrize(
    ("rule", "picked"),
    [
        ({"key": "app", "operator": "In", "values": ["dcgm", "x"]}, True),
        ({"key": "app", "operator": "NotIn", "values": ["dcgm"]}, False),
        ({"key": "none", "operator": "NotIn", "values": ["dcgm"]}, True),
        ({"key": "tier", "operator": "Exists"}, True),
        ({"key": "tier", "operator": "DoesNotExist"}, False),
        ({"key": "cores", "operator": "Gt", "values": ["64"]}, True),
        ({"key": "cores", "operator": "Lt", "values": ["64"]}, False),
        ({"key": "cores", "operator": "Gt", "values": ["many"]}, False),
        ({"key": "cores", "operator": "Sorcery"}, False),
    ],
)
def test_expressions(rule: dict[str, Any], picked: bool) -> None:
    assert matches({"matchExpressions": [rule]}, LABELS) is picked


def test_an_empty_selector_picks_all_and_labels_must_all_be_there() -> None:
    assert matches({}, LABELS)
    assert matches({"matchLabels": {"app": "dcgm"}}, LABELS)
    assert not matches({"matchLabels": {"app": "dcgm", "more": "x"}}, LABELS)


def daemonset(**spec: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": spec}}}


def node(*taints: dict[str, str], **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": "gpu-1", "labels": labels}, "spec": {"taints": list(taints)}}


GPU = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("toleration", "runs"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "nvidia.com/gpu", "operator": "Exists"}, True),
        ({"key": "nvidia.com/gpu", "value": "present"}, True),
        ({"key": "nvidia.com/gpu", "operator": "Equal", "value": "absent"}, False),
        ({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({}, False),
    ],
)
def test_a_taint_needs_its_toleration(toleration: dict[str, str], runs: bool) -> None:
    assert daemon_runs_on(daemonset(tolerations=[toleration]), node(GPU)) is runs


def test_daemons_tolerate_nodes_in_trouble_and_soft_taints() -> None:
    cordoned = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    soft = {"key": "soft", "effect": "PreferNoSchedule"}
    assert daemon_runs_on(daemonset(), node(cordoned, soft))


def test_node_selector_and_required_affinity() -> None:
    assert daemon_runs_on(daemonset(nodeSelector={"gpu": "yes"}), node(gpu="yes"))
    assert not daemon_runs_on(daemonset(nodeSelector={"gpu": "yes"}), node())
    terms = [
        {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]},
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gpu-1"]}]},
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    assert daemon_runs_on(daemonset(affinity={"nodeAffinity": required}), node())
    required["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] = terms[:1]
    assert not daemon_runs_on(daemonset(affinity={"nodeAffinity": required}), node())
