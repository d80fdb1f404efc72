"""Judge whether Kueue takes back what it admitted when its pods do not all start."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap, Unsure
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import quoted, subject, where
from evenpace.collect.kubernetes.fields import items, name, table, text
from evenpace.collect.kubernetes.kueue import QUEUES, gpu_flavors
from evenpace.findings import Evidence, Subject

MANAGER, CONFIG = "kueue-controller-manager", "kueue-manager-config"
BY_DEFAULT = 19  # Kueue 0.19 and later wait unless they are told not to
BLOCK = re.compile(r"^waitForPodsReady:.*(?:\n(?:[ \t].*|))*", re.MULTILINE)
OFF = re.compile(r"^[ \t]+enable:[ \t]*false\b", re.MULTILINE)
GATE = re.compile(r"^[ \t]+DisableWaitForPodsReady:[ \t]*true\b", re.MULTILINE)
VERSION = re.compile(r":v?0\.([0-9]{1,3})\b")


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer once for the cluster, where Kueue gives out accelerators."""
    flavors = {flavor for queue in cluster.objects(QUEUES) for flavor in gpu_flavors(queue)}
    if not flavors:
        return
    maps = [one for one in cluster.objects("configmaps") if name(one) == CONFIG]
    config = "\n".join(text(one, "data", key) for one in maps for key in table(one, "data"))
    if topological(cluster, flavors):
        yield FINE
        return
    waits = awaited(config, version(cluster)) if maps else None
    if waits is None:
        yield Unsure(Subject(kind="cluster"))
    elif waits:
        yield FINE
    else:
        block = BLOCK.search(config)
        found = Evidence(source=f"{where(maps[0])} waitForPodsReady", text=quoted(block and block.group()))
        yield Gap(subject(maps[0]), (found,))


def topological(cluster: Cluster, flavors: set[str]) -> bool:
    """Tell whether Kueue itself finds a place for all pods before it admits them."""
    known = cluster.objects("resourceflavors.kueue.x-k8s.io")
    return flavors <= {name(one) for one in known if text(one, "spec", "topologyName")}


def awaited(config: str, minor: int | None) -> bool | None:
    """Tell whether Kueue waits; None where its version, which decides, is not known."""
    block = BLOCK.search(config)
    if GATE.search(config) or (block and OFF.search(block.group())):
        return False
    if block:
        return True
    return None if minor is None else minor >= BY_DEFAULT


def version(cluster: Cluster) -> int | None:
    """Return N of the image `…:v0.N.…` of Kueue's manager."""
    managers = [one for one in cluster.objects("deployments.apps") if name(one) == MANAGER]
    pods = [one for manager in managers for one in items(manager, "spec", "template", "spec", "containers")]
    found = (VERSION.search(text(one, "image")[:500]) for one in pods if "kueue" in text(one, "image"))
    return next((int(one.group(1)) for one in found if one), None)
