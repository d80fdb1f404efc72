"""Judge how long the pods of training stay bound to a node that has died."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.runs import Created, training
from evenpace.collect.kubernetes.tolerations import DEFAULT, default_wait, wait
from evenpace.collect.kubernetes.workloads import Workload


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each workload of training with several pods; one that waits for ever has its own check."""
    default, created = default_wait(cluster), Created(cluster)
    for run in training(cluster):
        if run.pods < 2:
            continue
        long = [(seconds, part) for part in run.asking if (seconds := wait(part.spec, default)) >= DEFAULT]
        pod = created.pod(run) if long else None
        if long and isfinite(max(seconds for seconds, _ in long)) and _long(pod, default):
            seconds, part = long[0]
            quoted = (evidence(run.object, *part.path, "spec", "tolerations"),)
            details = {"seconds": int(seconds), "pods": run.pods, "gpus": run.gpus}
            yield Gap(subject(run.object), quoted, details)
        else:
            yield FINE


def _long(pod: Workload | None, default: float) -> bool:
    """Tell whether a live pod waits as long: what admission made of it counts."""
    return pod is None or wait(pod.spec, default) >= DEFAULT
