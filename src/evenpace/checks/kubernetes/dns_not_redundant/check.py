"""Judge whether one pod or one node that fails takes the cluster's name resolution along."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Details, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, few, quoted, subject, where
from evenpace.collect.kubernetes.fields import (
    Object,
    condition,
    dig,
    labels,
    name,
    namespace,
    number,
    table,
    text,
)
from evenpace.collect.kubernetes.matching import matches
from evenpace.findings import Evidence

_SMALL = 3  # nodes up to which one replica is a choice


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each Deployment of the cluster's DNS server in kube-system."""
    nodes = len(cluster.objects("nodes"))
    pods = [one for one in cluster.objects("pods") if namespace(one) == "kube-system"]
    for one in cluster.objects("deployments.apps"):
        if namespace(one) != "kube-system" or not _serves_names(one) or nodes <= _SMALL:
            continue
        selector = table(one, "spec", "selector")
        mine = [pod for pod in pods if matches(selector, labels(pod)) and _runs(pod)]
        homes = {text(pod, "spec", "nodeName") for pod in mine}
        wanted = number(one, "spec", "replicas")
        replicas = 1 if wanted is None else int(min(max(wanted, 0), 1e6))
        if not replicas:
            continue
        home = few(sorted(homes)) or "-"
        details: Details = {"replicas": replicas, "nodes": nodes, "pods": len(mine), "home": home}
        told = [evidence(one, "spec", "replicas")]
        if replicas < 2:
            yield Gap(subject(one), tuple(told), details)
        elif len(mine) > 1 and len(homes) == 1:
            told.append(Evidence(source=f"{where(mine[0])} .spec.nodeName", text=quoted(homes.pop())))
            yield Gap(subject(one), tuple(told), details)
        else:
            yield FINE


def _serves_names(one: Object) -> bool:
    marked = labels(one).get("k8s-app") in ("kube-dns", "coredns") or name(one) in ("coredns", "kube-dns")
    return marked and "autoscaler" not in name(one)


def _runs(pod: Object) -> bool:
    return text(condition(pod, "Ready"), "status") == "True" and not dig(pod, "metadata", "deletionTimestamp")
