"""Judge whether deleted pods with accelerators are gone from nodes that have died."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence
from evenpace.collect.kubernetes.fields import Object, condition, instant, name, table, text
from evenpace.collect.kubernetes.workloads import pod_gpus
from evenpace.findings import Evidence, Subject

LONG = timedelta(minutes=10)  # after the end of the grace period
_QUOTED = 3


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each node with such pods, and for each other pod with accelerators."""
    nodes = {name(node): node for node in cluster.objects("nodes")}
    stuck: dict[str, list[Object]] = {}
    for pod in cluster.objects("pods"):
        place = text(pod, "spec", "nodeName")
        if not place or not pod_gpus(table(pod, "spec")):
            continue
        if _overdue(pod, cluster.now) and not _ready(nodes.get(place)):
            stuck.setdefault(place, []).append(pod)
        else:
            yield FINE
    for place, pods in stuck.items():
        yield _gap(place, nodes.get(place), pods, cluster.now)


def _overdue(pod: Object, now: datetime) -> bool:
    """Tell whether a pod should long be gone: the time of its deletion has the grace period in it."""
    gone = instant(pod, "metadata", "deletionTimestamp")
    return gone is not None and now - gone > LONG


def _ready(node: Object | None) -> bool:
    return node is not None and text(condition(node, "Ready"), "status") == "True"


def _gap(place: str, node: Object | None, pods: Sequence[Object], now: datetime) -> Gap:
    times = [gone for pod in pods if (gone := instant(pod, "metadata", "deletionTimestamp"))]
    first = min(times)
    ready = "null" if node is None else text(condition(node, "Ready"), "status", default="null")
    state = Evidence(source=f"Node/{place} Ready", text=ready)
    quoted = (evidence(pod, "metadata", "deletionTimestamp") for pod in pods[:_QUOTED])
    details = {"pods": len(pods), "minutes": int((now - first).total_seconds() // 60)}
    return Gap(Subject(kind="node", node=place), (state, *quoted), details, first.isoformat())
