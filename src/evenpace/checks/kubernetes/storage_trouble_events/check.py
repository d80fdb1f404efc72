"""Judge whether nodes with accelerators have trouble with their volumes and disks right now."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from evenpace.checks.answers import FINE, Answer, Details, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence
from evenpace.collect.kubernetes.fields import Object, instant, name, number, text
from evenpace.collect.kubernetes.workloads import gpu_nodes
from evenpace.findings import Subject

_LATELY = timedelta(hours=1)
_OFTEN = 5
_REASONS = (
    *("FailedMount", "FailedAttachVolume", "FreeDiskSpaceFailed", "ImageGCFailed"),
    "EvictionThresholdMet",
)
_WORDS = ("no space left on device", "read-only file system", "stale file handle", "transport endpoint")
# A pod's own mistakes: what it asks for is not there (yet).
_OWN = (
    "configmap",
    "secret",
    "not registered",
    "not found",
    "unbound immediate",
    "unable to attach or mount",
)


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each node with accelerators: one gap, with its events of the last hour that came often."""
    nodes = {name(node): node for node in gpu_nodes(cluster)}
    found: dict[str, list[tuple[int, Object]]] = {}
    for event in cluster.objects("events"):
        last = instant(event, "lastTimestamp") or instant(event, "series", "lastObservedTime")
        last = last or instant(event, "eventTime")
        count = number(event, "count") or number(event, "series", "count") or 1
        if last and cluster.now - last < _LATELY and _storage(event):
            found.setdefault(_node(event), []).append((int(count), event))
    for node in nodes:
        events = found.get(node, [])
        if sum(count for count, _ in events) < _OFTEN:
            yield FINE
            continue
        events.sort(key=lambda one: -one[0])
        told = tuple(evidence(event, "message") for _, event in events[:3])
        reasons = sorted({text(event, "reason") for _, event in events})
        details: Details = {"events": sum(count for count, _ in events), "reasons": ", ".join(reasons)}
        yield Gap(Subject(kind="node", node=node), told, details)


def _storage(event: Object) -> bool:
    message, reason = text(event, "message").lower(), text(event, "reason")
    if text(event, "type") != "Warning" or any(word in message for word in _OWN):
        return False
    memory = reason == "EvictionThresholdMet" and "memory" in message
    return (reason in _REASONS and not memory) or any(word in message for word in _WORDS)


def _node(event: Object) -> str:
    about = text(event, "involvedObject", "name") if text(event, "involvedObject", "kind") == "Node" else ""
    return text(event, "source", "host") or text(event, "reportingInstance") or about
