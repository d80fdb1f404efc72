"""Judge whether training over several nodes takes the RDMA devices that its nodes offer."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject, where
from evenpace.collect.kubernetes.fields import Object, dig, flag, items, table, text
from evenpace.collect.kubernetes.places import Places, rdma
from evenpace.collect.kubernetes.runs import Created, containers, joined, several_nodes, training, variables
from evenpace.collect.kubernetes.workloads import Workload, accelerator
from evenpace.findings import Evidence

# Annotations with which a pod asks for further networks; plug-ins note those that it has in others.
_NETWORKS = ("/networks", "/interfaces")


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each workload whose pods train together on whole nodes."""
    places, created = Places(cluster), Created(cluster)
    for run in training(cluster):
        if not joined(run) or not several_nodes(run):
            continue
        part = max(run.asking, key=lambda one: one.pods * one.gpus)
        bare = places.all_have(part, rdma, whole=True) and not _other_ways(part)
        if bare and not _other_ways(created.pod(run)):
            path = next(iter(containers(part)))[0]
            node = places.nodes(part, whole=True)[0]
            name = rdma(node)
            offer = Evidence(source=f"{where(node)} .status.allocatable", text=name)
            limits = evidence(run.object, *path, "resources", "limits")
            yield Gap(subject(run.object), (limits, offer), {"pods": run.pods, "resource": name})
        else:
            yield FINE


def _other_ways(part: Workload | None) -> bool:
    """Tell whether a pod takes network devices in any way, or does without them on purpose."""
    if part is None:
        return False
    spec, said = part.spec, variables(part)
    devices = any(text(one, "hostPath", "path").startswith("/dev") for one in items(spec, "volumes"))
    named = any(str(key).endswith(_NETWORKS) for key in table(part.metadata, "annotations"))
    off = "NCCL_IB_DISABLE" in said and said["NCCL_IB_DISABLE"].value != "0"
    host = bool(flag(spec, "hostNetwork")) or bool(dig(spec, "resourceClaims"))
    return devices or named or off or host or any(_extended(one) for one in items(spec, "containers"))


def _extended(container: Object) -> bool:
    asked = {*table(container, "resources", "limits"), *table(container, "resources", "requests")}
    other = any("/" in str(name) and not accelerator(name) for name in asked)
    return other or bool(flag(container, "securityContext", "privileged"))
