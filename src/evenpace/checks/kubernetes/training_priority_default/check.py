"""Judge whether large training without a priority can be pushed out by others that use GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject, where
from evenpace.collect.kubernetes.fields import Object, table, text
from evenpace.collect.kubernetes.gangs import active, belongs_to
from evenpace.collect.kubernetes.policies import LARGE
from evenpace.collect.kubernetes.priorities import (
    classes,
    default_class,
    pod_priority,
    preempts,
    ranked,
    value,
)
from evenpace.collect.kubernetes.runs import training


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each large training that has not ended."""
    known = classes(cluster)
    default = value(default_class(known.values()))
    pods = list(active(cluster))
    threat = strongest(pods, known, default)
    # Admission may give pods a class that their template does not name.
    given = {belongs_to(pod) for pod in pods if text(pod, "spec", "priorityClassName")}
    for run in training(cluster):
        if run.gpus < LARGE:
            continue
        if threat is None or ranked(run) or where(run.object) in given:
            yield FINE
        else:
            quoted = (
                evidence(run.object, *run.asking[0].path, "spec", "priorityClassName"),
                evidence(threat, "spec", "priorityClassName"),
                evidence(threat, "spec", "priority"),
            )
            details: dict[str, str | int | float] = {
                "gpus": run.gpus,
                "default": int(default),
                "high": int(pod_priority(threat, known)),
                "class": text(threat, "spec", "priorityClassName", default="?"),
            }
            yield Gap(subject(run.object), quoted, details)


def strongest(pods: list[Object], known: dict[str, Object], default: float) -> Object | None:
    """Return the pod with accelerators that may push out those of default priority, none of the system."""
    above = (
        pod
        for pod in pods
        if pod_priority(pod, known) > default
        and preempts(table(pod, "spec"))
        and not text(pod, "spec", "priorityClassName").startswith("system-")
    )
    return max(above, key=lambda pod: pod_priority(pod, known), default=None)
