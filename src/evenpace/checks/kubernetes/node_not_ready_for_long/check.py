"""Judge whether nodes that died were replaced or repaired."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from evenpace.checks.answers import FINE, Answer, Details, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import condition, instant, items, text
from evenpace.collect.kubernetes.workloads import capacity, gpu_nodes, gpus

_LONG = timedelta(hours=1)


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each node with accelerators that has reported at all."""
    for node in gpu_nodes(cluster):
        found = condition(node, "Ready")
        since = instant(found, "lastTransitionTime")
        if not found or text(found, "status") == "True" or not since or cluster.now - since < _LONG:
            yield FINE
            continue
        places = [text(one, "type") for one in items(node, "status", "conditions")]
        told = evidence(node, "status", "conditions", places.index("Ready"))
        hours = int((cluster.now - since).total_seconds() // 3600)
        details: Details = {
            "hours": hours,
            "gpus": gpus(capacity(node)),
            "why": text(found, "reason", default="?"),
        }
        yield Gap(subject(node), (told,), details, since.isoformat())
