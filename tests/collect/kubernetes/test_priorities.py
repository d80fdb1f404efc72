"""Priorities: of classes, pods and training."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.priorities import (
    CLASSES,
    classes,
    default_class,
    pod_priority,
    preempts,
    ranked,
    value,
)
from evenpace.collect.kubernetes.runs import Run
from evenpace.collect.kubernetes.workloads import templates
from evenpace.collect.snapshot import Snapshot


def known() -> dict[str, Any]:
    found = [
        {"metadata": {"name": "high"}, "value": 1000},
        {"metadata": {"name": "standard"}, "value": 10, "globalDefault": True, "preemptionPolicy": "Never"},
    ]
    taken = datetime(2026, 11, 29, tzinfo=UTC)
    return classes(Cluster(Snapshot("kubernetes", "", taken, {CLASSES: found}), [CLASSES]))


def test_pods_that_name_no_class_get_the_default_one() -> None:
    default = default_class(known().values())
    assert default is not None
    assert (value(default), preempts(default), preempts(known()["high"])) == (10, False, True)
    assert value(default_class([])) == 0


def test_a_pod_keeps_the_priority_that_it_was_made_with() -> None:
    assert pod_priority({"spec": {"priorityClassName": "high"}}, known()) == 1000
    assert pod_priority({"spec": {"priorityClassName": "high", "priority": 7}}, known()) == 7
    assert pod_priority({"spec": {}}, known()) == 0


def run(spec: dict[str, Any], pod: dict[str, Any], **metadata: Any) -> Run:
    job = {"metadata": metadata, "spec": {"template": {"spec": pod}, **spec}}
    return Run("jobs.batch", job, tuple(templates("jobs.batch", job)))


def test_training_is_ranked_by_its_pods_or_its_queue() -> None:
    assert ranked(run({}, {"priorityClassName": "high"}))
    assert ranked(run({"priorityClassName": "high"}, {}))
    assert ranked(run({"runPolicy": {"schedulingPolicy": {"priorityClass": "high"}}}, {}))
    assert ranked(run({}, {}, labels={"kueue.x-k8s.io/priority-class": "high"}))
    assert not ranked(run({}, {}))
