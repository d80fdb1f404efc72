"""The queues of Kueue: which of them give out accelerators, and from which flavors."""

from __future__ import annotations

from evenpace.collect.kubernetes.fields import Object, items, strings, text
from evenpace.collect.kubernetes.workloads import accelerator

QUEUES = "clusterqueues.kueue.x-k8s.io"


def gpu_flavors(queue: Object) -> tuple[str, ...]:
    """Return the names of the flavors in which a ClusterQueue gives out accelerators, none for others."""
    groups = (
        group
        for group in items(queue, "spec", "resourceGroups")
        if any(map(accelerator, strings(group, "coveredResources")))
    )
    return tuple(text(flavor, "name") for group in groups for flavor in items(group, "flavors"))
