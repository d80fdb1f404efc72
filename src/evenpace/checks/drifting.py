"""Judge whether the nodes of a pool say the same of their system."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from evenpace.checks.answers import FINE, Answer, Details, Gap, Unsure
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, few, subject
from evenpace.collect.kubernetes.fields import Object
from evenpace.collect.kubernetes.pools import Drift, drift
from evenpace.collect.kubernetes.workloads import gpu_nodes
from evenpace.findings import Evidence, Subject

INFO = ("status", "nodeInfo")
_QUOTED = 4  # nodes


def drifting(cluster: Cluster, fields: tuple[str, ...], said: Callable[[Object], str]) -> Iterator[Answer]:
    """Answer for each pool of nodes with accelerators; a rollout that may be under way is not sure.

    `said` is what a node says, `fields` those of `status.nodeInfo` that are quoted.
    """
    for found in drift(gpu_nodes(cluster), said, cluster.now):
        each = [nodes[0] for nodes in found.values.values()]
        if len(each) == 1:
            yield FINE
        elif found.rolling:
            yield Unsure(subject(each[0]), {"pool": found.pool, "versions": found.told})
        else:
            told = tuple(evidence(node, *INFO, field) for node in each[:_QUOTED] for field in fields)
            yield gap(found, told)


def gap(found: Drift, told: tuple[Evidence, ...]) -> Gap:
    """Return the gap of a pool that drifts: the same as long as it is this pool with these values."""
    names = found.nodes
    details: Details = {"pool": found.pool, "versions": found.told, "nodes": few(names)}
    known_by = (*found.group, *sorted(found.values))
    return Gap(Subject(kind="node", node=names), told, details, known_by=known_by)
