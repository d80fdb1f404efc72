"""Judge whether a node that takes no pods says why, or who took it out."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.conditions import bad, others
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import Object, table
from evenpace.collect.kubernetes.pools import cordoned_since, pools, ready, set_apart, usual_taints
from evenpace.collect.kubernetes.workloads import gpu_nodes, schedulable

_TIME = timedelta(hours=1)
# Words in the keys of labels and annotations with which people and tools say why a node is out.
_WHY = (
    *("reason", "cordon", "drain", "maint", "quarantine", "repair", "ticket", "remediat", "unhealthy"),
    *("nvsentinel", "health-check", "incident", "rma", "broken", "oncall", "reserved", "upgrade"),
    *("decommission", "kured", "disrupt", "taken-by", "out-of-service", "gpuhealth"),
)
_DONE = ("upgrade-done", "", "false", "PASS")


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each node with accelerators that takes no pods."""
    for members in pools(gpu_nodes(cluster)).values():
        usual = usual_taints(members)
        for node in members:
            since = cordoned_since(node)
            lately = since is not None and cluster.now - since < _TIME
            if schedulable(node) or lately or set_apart(node, usual) or _known(node):
                yield FINE
            else:
                told = tuple(evidence(node, "spec", field) for field in ("unschedulable", "taints"))
                began = since.isoformat() if since else None
                yield Gap(subject(node), told, since=began)


def _known(node: Object) -> bool:
    """Tell whether its state, a label or an annotation says why; one that says that all is done does not."""
    if not ready(node) or any(map(bad, others(node))):
        return True
    notes = [*table(node, "metadata", "labels").items(), *table(node, "metadata", "annotations").items()]
    spelled = [str(key).lower() for key, value in notes if value not in _DONE]
    return any(word in key for key in spelled for word in _WHY if "upgrade-enabled" not in key)
