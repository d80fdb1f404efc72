"""Judge how long the pods of training stay bound to a node that has died."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.runs import training
from evenpace.collect.kubernetes.tolerations import DEFAULT, default_wait, wait


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each workload of training with several pods; one that waits for ever has its own check."""
    default = default_wait(cluster)
    for run in training(cluster):
        if run.pods < 2:
            continue
        long = [(seconds, part) for part in run.asking if (seconds := wait(part.spec, default)) >= DEFAULT]
        if long and isfinite(max(seconds for seconds, _ in long)):
            seconds, part = long[0]
            quoted = (evidence(run.object, *part.path, "spec", "tolerations"),)
            details = {"seconds": int(seconds), "pods": run.pods, "gpus": run.gpus}
            yield Gap(subject(run.object), quoted, details)
        else:
            yield FINE
