"""Judge whether the clocks of nodes agree, by the times at which they say to have renewed their leases."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from evenpace.checks.answers import FINE, Answer, Details, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence
from evenpace.collect.kubernetes.fields import instant, name, namespace
from evenpace.collect.kubernetes.pools import ready
from evenpace.findings import Evidence, Subject

_AHEAD, _BEHIND = timedelta(minutes=1), timedelta(minutes=5)
_LEAST = 4  # leases of ready nodes


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each ready node: the time in its lease against the median of all."""
    up = {name(node) for node in cluster.objects("nodes") if ready(node)}
    found = []
    for lease in cluster.objects("leases.coordination.k8s.io"):
        renewed = instant(lease, "spec", "renewTime")
        if namespace(lease) == "kube-node-lease" and name(lease) in up and renewed:
            found.append((lease, renewed))
    if len(found) < _LEAST:
        return
    middle = sorted(renewed for _, renewed in found)[len(found) // 2]
    for lease, renewed in found:
        apart = renewed - middle
        if -_BEHIND < apart < _AHEAD:
            yield FINE
            continue
        peers = Evidence(source="list leases, median .spec.renewTime", text=middle.isoformat())
        told = (evidence(lease, "spec", "renewTime"), peers)
        sign = "+" if apart > timedelta() else "-"
        details: Details = {"apart": f"{sign}{abs(int(apart.total_seconds()))}"}
        yield Gap(Subject(kind="node", node=name(lease)), told, details)
