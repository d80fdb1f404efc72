"""Judge whether the pods of a run get the same image after a restart as before."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import Object, text
from evenpace.collect.kubernetes.runs import containers, training


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each workload of training with several pods."""
    for run in training(cluster):
        if run.pods < 2:
            continue
        found = [pair for part in run.asking for pair in containers(part)]
        moving = [(path, one) for path, one in found if _moves(one)]
        if moving:
            path, one = moving[0]
            quoted = (evidence(run.object, *path, "image"),)
            yield Gap(subject(run.object), quoted, {"image": text(one, "image"), "pods": run.pods})
        else:
            yield FINE


def _moves(container: Object) -> bool:
    """Tell whether the image is that of the tag `latest`, by name or because there is none.

    An image that is never pulled was put on the nodes by hand.
    """
    image = text(container, "image")
    if not image or "@" in image or text(container, "imagePullPolicy") == "Never":
        return False
    tag = image.rpartition("/")[2].partition(":")[2]
    return tag in ("", "latest")
