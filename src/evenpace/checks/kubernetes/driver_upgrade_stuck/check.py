"""Judge whether the upgrades of GPU drivers by their operators come to an end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from evenpace.checks.answers import FINE, Answer, Gap, Unsure
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, few, several, subject
from evenpace.collect.kubernetes.fields import Object, labels, name
from evenpace.collect.kubernetes.pools import cordoned_since

# Labels of NVIDIA's operators for GPUs and for networks.
_LABELS = ("nvidia.com/gpu-driver-upgrade-state", "nvidia.com/ofed-driver-upgrade-state")
_WAITS, _FAILED = "upgrade-required", "upgrade-failed"
_RESTING = ("upgrade-done", _WAITS, _FAILED, "")
_LONG = timedelta(hours=4)  # that one node may be out for its upgrade


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each node with such a label; nodes that wait while nobody is upgraded are not sure."""
    nodes = [(node, labels(node)) for node in cluster.objects("nodes")]
    states = [(node, key, found[key]) for node, found in nodes for key in _LABELS if key in found]
    moving = {key for _, key, state in states if state not in _RESTING}
    waiting: dict[str, list[Object]] = {}
    for node, key, state in states:
        if state == _WAITS and key not in moving:
            waiting.setdefault(key, []).append(node)
            continue
        since = cordoned_since(node)
        long = since is not None and cluster.now - since > _LONG
        if state == _FAILED or (long and state not in _RESTING):
            told = (evidence(node, "metadata", "labels", key), evidence(node, "spec", "taints"))
            yield Gap(subject(node), told, {"state": state}, since.isoformat() if since else None)
        else:
            yield FINE
    for held in waiting.values():
        yield Unsure(several(held), {"nodes": few(list(map(name, held)))})
