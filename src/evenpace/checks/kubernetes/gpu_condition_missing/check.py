"""Judge whether nodes with accelerators say anything about the health of these accelerators."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Details, Gap
from evenpace.collect.kubernetes.agents import called, left_out
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.conditions import about_accelerators, others
from evenpace.collect.kubernetes.evidence import few, quoted, several
from evenpace.collect.kubernetes.fields import Object, items, name, text
from evenpace.collect.kubernetes.pools import first, pools, shown, young
from evenpace.collect.kubernetes.workloads import gpu_nodes
from evenpace.findings import Evidence

# These report elsewhere, or set a condition only when something is broken.
_QUIET = ("nvsentinel", "gpu-health-monitor", "syslog-health-monitor", "gpud", "autopilot")
_LABELS = ("autopilot.ibm.com/gpuhealth",)


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each pool of nodes with accelerators; nodes that just joined are left out."""
    quiet = [one for one in cluster.objects("daemonsets.apps") if called(one, _QUIET)]
    for members in pools(gpu_nodes(cluster)).values():
        silent = [node for node in members if not _told(node) and not young(node, cluster.now)]
        unwatched = left_out(silent, quiet)
        if not unwatched:
            yield FINE
            continue
        found = {text(one, "type") for node in unwatched for one in items(node, "status", "conditions")}
        listing = f"list nodes .status.conditions[].type, pool {shown(members[0])}"
        told = Evidence(source=listing, text=quoted(sorted(found)))
        details: Details = {"nodes": few(list(map(name, unwatched))), "pool": shown(members[0])}
        yield Gap(several(unwatched), (told,), details)


def _told(node: Object) -> bool:
    return any(map(about_accelerators, others(node))) or bool(first(node, _LABELS))
