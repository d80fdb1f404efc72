"""Judge whether the nodes of a pool run one kernel and one image of the operating system."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Details, Gap, Unsure
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, few, subject
from evenpace.collect.kubernetes.fields import Object, text
from evenpace.collect.kubernetes.pools import drift
from evenpace.collect.kubernetes.workloads import gpu_nodes
from evenpace.findings import Subject

_PATH = ("status", "nodeInfo")


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each pool of nodes with accelerators; a rollout that may be under way is not sure."""
    for found in drift(gpu_nodes(cluster), _system, cluster.now):
        details: Details = {"pool": found.pool, "versions": found.told}
        each = [nodes[0] for nodes in found.values.values()]
        if len(each) == 1:
            yield FINE
        elif found.rolling:
            yield Unsure(subject(each[0]), details)
        else:
            fields = ("kernelVersion", "osImage")
            told = tuple(evidence(node, *_PATH, field) for node in each[:4] for field in fields)
            names = found.nodes
            yield Gap(Subject(kind="node", node=names), told, details | {"nodes": few(names)})


def _system(node: Object) -> str:
    kernel, image = (text(node, *_PATH, field) for field in ("kernelVersion", "osImage"))
    return f"{image}, {kernel}" if kernel else ""
