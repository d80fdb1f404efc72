"""Judge whether nodes offer all accelerators that they have."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Details, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import Object, labels, quantity
from evenpace.collect.kubernetes.pools import ready, young
from evenpace.collect.kubernetes.workloads import accelerator, capacity, gpu_nodes, schedulable

_PARTS = ("capacity", "allocatable")
# While a driver is exchanged or MIG is laid out anew, fewer are offered on purpose.
_DRIVER, _MIG = "nvidia.com/gpu-driver-upgrade-state", "nvidia.com/mig.config.state"


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each node with accelerators that is in service and has been up for a while."""
    for node in gpu_nodes(cluster):
        if not ready(node) or not schedulable(node) or young(node, cluster.now) or _changing(node):
            yield FINE
            continue
        counts = {one: _count(node, one) for one in capacity(node) if accelerator(one)}
        short = [one for one, (has, offers) in counts.items() if offers < has]
        if not short:
            yield FINE
            continue
        resource, (has, offers) = short[0], counts[short[0]]
        told = [evidence(node, "status", part, one) for one in short for part in _PARTS]
        details: Details = {"has": has, "offers": offers, "lost": has - offers}
        yield Gap(subject(node), tuple(told), {"resource": resource, **details})


def _count(node: Object, resource: str) -> tuple[int, int]:
    """Return (what the node has, what it offers)."""
    has, offers = (quantity(node, "status", part, resource) for part in ("capacity", "allocatable"))
    return int(min(has or 0, 1e6)), int(min(offers or 0, 1e6))


def _changing(node: Object) -> bool:
    found = labels(node)
    return found.get(_DRIVER, "upgrade-done") != "upgrade-done" or found.get(_MIG, "success") != "success"
