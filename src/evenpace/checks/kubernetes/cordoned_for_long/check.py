"""Judge whether nodes that were taken out come back, or are replaced, within a week."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from evenpace.checks.answers import FINE, Answer, Gap, Unsure
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import instant
from evenpace.collect.kubernetes.pools import cordoned_since, pools, set_apart, usual_taints
from evenpace.collect.kubernetes.workloads import gpu_nodes, schedulable

_LONG = timedelta(days=7)


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each node with accelerators; since when one is out is known from its taints alone."""
    for members in pools(gpu_nodes(cluster)).values():
        usual = usual_taints(members)
        for node in members:
            apart = [instant(one, "timeAdded") for one in set_apart(node, usual)]
            times = [one for one in (cordoned_since(node), *apart) if one]
            if schedulable(node) and not apart:
                yield FINE
            elif times and cluster.now - min(times) > _LONG:
                days = (cluster.now - min(times)).days
                told = (evidence(node, "spec", "taints"),)
                yield Gap(subject(node), told, {"days": days}, min(times).isoformat())
            else:
                yield FINE if times else Unsure(subject(node))
