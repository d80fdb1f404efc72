"""Judge whether pods that name no priority may push running GPU work out."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import Object, table, text
from evenpace.collect.kubernetes.gangs import active, belongs_to
from evenpace.collect.kubernetes.policies import LARGE
from evenpace.collect.kubernetes.priorities import classes, default_class, pod_priority, preempts, value
from evenpace.collect.kubernetes.workloads import pod_gpus

# Names of classes that are low on purpose.
LOW = (
    *("low", "preempt", "spot", "scaveng", "effort", "idle", "backfill", "opportun", "overprov"),
    *("placeholder", "balloon", "headroom", "pause", "background", "batch", "dev", "test", "debug"),
)


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for the class that pods get which name none; one that pushes nobody out is fine."""
    known = classes(cluster)
    default = default_class(known.values())
    if default is None or not preempts(default):
        yield FINE
        return
    below: dict[str, list[Object]] = {}
    for pod in active(cluster):
        if pod_priority(pod, known) < value(default) and not meant(pod, known):
            below.setdefault(belongs_to(pod), []).append(pod)
    gpus = {name: sum(pod_gpus(table(pod, "spec")) for pod in pods) for name, pods in below.items()}
    large = [name for name in below if gpus[name] >= LARGE]
    if not large:
        yield FINE
        return
    first = below[large[0]][0]
    quoted = (
        evidence(default, "value"),
        evidence(first, "spec", "priorityClassName"),
        evidence(first, "spec", "priority"),
    )
    details: dict[str, str | int | float] = {
        "class": text(default, "metadata", "name", default="?"),
        "value": int(value(default)),
        "workloads": len(large),
        "gpus": sum(gpus[name] for name in large),
        "example": large[0],
        "priority": int(pod_priority(first, known)),
    }
    yield Gap(subject(default), quoted, details)


def meant(pod: Object, known: dict[str, Object]) -> bool:
    """Tell whether a pod is low on purpose: by the name of its class, or below zero."""
    called = text(pod, "spec", "priorityClassName").lower()
    return pod_priority(pod, known) < 0 or any(word in called for word in LOW)
