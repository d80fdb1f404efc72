"""Judge whether the pods that bring GPUs to Kubernetes are ready and stay so."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from evenpace.checks.answers import FINE, Answer, Details, Gap
from evenpace.collect.kubernetes.agents import DEVICE_PLUGINS
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, few
from evenpace.collect.kubernetes.fields import (
    Object,
    condition,
    dig,
    instant,
    items,
    name,
    namespace,
    number,
    owner,
    text,
)
from evenpace.collect.kubernetes.pools import ready, young
from evenpace.findings import Subject

_NAMES = (
    *("nvidia-driver-daemonset", "nvidia-container-toolkit", "nvidia-operator-validator", "gpu-operator"),
    *("gpu-feature-discovery", "nvidia-mig-manager", "nvidia-dcgm", "dcgm-exporter", *DEVICE_PLUGINS),
)
_ENDED = ("Succeeded", "Failed")
_TIME = timedelta(minutes=15)
_OFTEN, _LATELY = 5, timedelta(days=1)


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each controller of such pods; pods on nodes that are away themselves are left out."""
    away = {name(node) for node in cluster.objects("nodes") if not ready(node) or young(node, cluster.now)}
    groups: dict[str, list[Object]] = {}
    for pod in cluster.objects("pods"):
        ended = text(pod, "status", "phase") in _ENDED or dig(pod, "metadata", "deletionTimestamp")
        if name(pod).startswith(_NAMES) and not ended and text(pod, "spec", "nodeName") not in away:
            owned = f"{namespace(pod)}/{text(owner(pod), 'name') or name(pod)}"
            groups.setdefault(owned, []).append(pod)
    for owned, pods in sorted(groups.items()):
        ill = [pod for pod in pods if _not_ready(pod, cluster.now) or _restarts(pod, cluster.now)]
        if not ill:
            yield FINE
            continue
        states = ("conditions", "initContainerStatuses", "containerStatuses")
        told = tuple(evidence(ill[0], "status", state) for state in states if dig(ill[0], "status", state))
        nodes = few(sorted({text(pod, "spec", "nodeName", default="?") for pod in ill}))
        details: Details = {"ill": len(ill), "pods": len(pods), "nodes": nodes, "pod": name(ill[0])}
        controller = f"{text(owner(ill[0]), 'kind', default='Pod')}/{owned}"
        yield Gap(Subject(kind="object", object=controller), told, details)


def _not_ready(pod: Object, now: datetime) -> bool:
    found = condition(pod, "Ready")
    since = instant(found, "lastTransitionTime") or instant(pod, "metadata", "creationTimestamp")
    return text(found, "status") == "False" and since is not None and now - since > _TIME


def _restarts(pod: Object, now: datetime) -> bool:
    """Tell whether a container restarted often, and within the last day."""
    for one in items(pod, "status", "containerStatuses") + items(pod, "status", "initContainerStatuses"):
        ended = instant(one, "lastState", "terminated", "finishedAt")
        if (number(one, "restartCount") or 0) >= _OFTEN and ended and now - ended < _LATELY:
            return True
    return False
