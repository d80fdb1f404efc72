"""Judge whether logs of pods outlive the pod and the node, on the nodes with accelerators."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Details, Gap, Unsure
from evenpace.collect.kubernetes.agents import DETECTORS, LOG_COLLECTORS, called, left_out, reads_pod_logs
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import few, listed, several
from evenpace.collect.kubernetes.fields import Object, name
from evenpace.collect.kubernetes.pools import cloud, pools, shown, young
from evenpace.collect.kubernetes.workloads import gpu_nodes


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each pool of nodes with accelerators; where the cloud may collect unseen, none is sure."""
    daemonsets = cluster.objects("daemonsets.apps")
    collectors = [one for one in daemonsets if called(one, LOG_COLLECTORS) or _reads(one)]
    for members in pools(gpu_nodes(cluster)).values():
        bare = [node for node in left_out(members, collectors) if not young(node, cluster.now)]
        details: Details = {"nodes": few(list(map(name, bare))), "pool": shown(members[0])}
        if not bare:
            yield FINE
        elif unseen := cloud(bare[0]):
            yield Unsure(several(bare), details | {"by": unseen})
        else:
            yield Gap(several(bare), (listed("daemonsets.apps", daemonsets),), details)


def _reads(daemonset: Object) -> bool:
    """Tell whether an agent of another name reads the logs of pods: a detector reads the kernel's."""
    return reads_pod_logs(daemonset) and not called(daemonset, DETECTORS)
