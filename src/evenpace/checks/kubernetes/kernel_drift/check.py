"""Judge whether the nodes of a pool run one kernel and one image of the operating system."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import Answer
from evenpace.checks.drifting import INFO, drifting
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.fields import Object, text

_FIELDS = ("kernelVersion", "osImage")


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each pool of nodes with accelerators; a rollout that may be under way is not sure."""
    return drifting(cluster, _FIELDS, _system)


def _system(node: Object) -> str:
    kernel, image = (text(node, *INFO, field) for field in _FIELDS)
    return f"{image}, {kernel}" if kernel else ""
