"""Judge whether metrics of the accelerators are taken on every node that has some."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Details, Gap, Unsure
from evenpace.collect.kubernetes.agents import COLLECTORS, EXPORTERS, called, left_out
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import few, listed, several
from evenpace.collect.kubernetes.fields import name
from evenpace.collect.kubernetes.matching import daemon_runs_on
from evenpace.collect.kubernetes.pools import cloud, pools, shown, young
from evenpace.collect.kubernetes.workloads import gpu_nodes


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each pool of nodes with accelerators; where the cloud may take them unseen, none is sure."""
    daemonsets = cluster.objects("daemonsets.apps")
    exporters = [one for one in daemonsets if called(one, EXPORTERS)]
    collectors = [one for one in daemonsets if called(one, COLLECTORS)]
    for members in pools(gpu_nodes(cluster)).values():
        bare = [node for node in left_out(members, exporters) if not young(node, cluster.now)]
        details: Details = {"nodes": few(list(map(name, bare))), "pool": shown(members[0])}
        if not bare:
            yield FINE
            continue
        running = [name(one) for one in collectors if daemon_runs_on(one, bare[0])]
        if unseen := cloud(bare[0]) or few(running):
            yield Unsure(several(bare), details | {"by": unseen})
        else:
            yield Gap(several(bare), (listed("daemonsets.apps", daemonsets),), details)
