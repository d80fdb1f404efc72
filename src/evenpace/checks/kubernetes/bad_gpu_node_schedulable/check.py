"""Judge whether nodes whose conditions say that something is broken still take pods."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.conditions import about_accelerators, bad, others, words
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import Object, instant, items, text
from evenpace.collect.kubernetes.pools import in_service, pools, usual_taints
from evenpace.collect.kubernetes.workloads import gpu_nodes

_TIME = timedelta(minutes=15)  # that whoever takes nodes out may need
# What of a node, beside its accelerators, ends or stalls training when it is broken.
_PARTS = frozenset(("kernel", "networking", "storage", "ib", "infiniband", "filesystem", "rdma", "nic"))


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each node with accelerators."""
    for members in pools(gpu_nodes(cluster)).values():
        usual = usual_taints(members)
        for node in members:
            broken = [place for place in _broken(node, cluster.now) if in_service(node, usual)]
            if not broken:
                yield FINE
                continue
            found = items(node, "status", "conditions")
            kinds = ", ".join(text(found[place], "type") for place in broken)
            since = text(found[broken[0]], "lastTransitionTime") or None
            told = tuple(evidence(node, "status", "conditions", place) for place in broken)
            yield Gap(subject(node), told, {"conditions": kinds}, since)


def _broken(node: Object, now: datetime) -> Iterator[int]:
    """Yield the places of the conditions that have said for a while that a part is broken."""
    judged = others(node)
    for place, one in enumerate(items(node, "status", "conditions")):
        part = about_accelerators(one) or not _PARTS.isdisjoint(words(text(one, "type")))
        since = instant(one, "lastTransitionTime")
        if one in judged and part and bad(one) and since and now - since > _TIME:
            yield place
