"""Judge whether the nodes of a pool run one version of the kubelet and of the container runtime."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import Answer
from evenpace.checks.drifting import INFO, drifting
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.fields import Object, text

_FIELDS = ("kubeletVersion", "containerRuntimeVersion")


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each pool of nodes with accelerators; a rollout that may be under way is not sure."""
    return drifting(cluster, _FIELDS, _versions)


def _versions(node: Object) -> str:
    return " ".join(filter(None, (text(node, *INFO, field) for field in _FIELDS)))
