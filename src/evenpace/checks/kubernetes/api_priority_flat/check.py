"""Judge whether agents and users share the API server's levels of the control plane, or none at all."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import Object, items, name, strings, table, text

_GROUP = "flowcontrol.apiserver.k8s.io"
_VITAL = ("exempt", "system", "node-high", "leader-election")
_DEFAULT = "apf.kubernetes.io/autoupdate-spec"
# Groups and users of Kubernetes and of those who run the control plane.
_OWN = ("system:", "kubernetes-", "kube-", "openshift", "eks:", "gke", "aks", "ibm-", "cluster-admin")
_HOMES = ("kube-", "openshift", "gke-", "gmp-", "calico-", "tigera-", "ibm-", "eks-", "aks-")
_ACCOUNTS = ("system:serviceaccounts:", "system:serviceaccount:")
_LISTS = frozenset(("*", "list", "watch"))


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each FlowSchema that Kubernetes did not make itself."""
    levels = {name(one) for one in cluster.objects(f"prioritylevelconfigurations.{_GROUP}")}
    for one in cluster.objects(f"flowschemas.{_GROUP}"):
        if _DEFAULT in table(one, "metadata", "annotations"):
            continue
        level = text(one, "spec", "priorityLevelConfiguration", "name")
        places = [place for place, rule in enumerate(items(one, "spec", "rules")) if _crowd(rule)]
        if level in _VITAL and level in levels and places:
            told = (
                evidence(one, "spec", "priorityLevelConfiguration", "name"),
                evidence(one, "spec", "rules", places[0]),
            )
            yield Gap(subject(one), told, {"level": level})
        else:
            yield FINE


def _crowd(rule: Object) -> bool:
    """Tell whether a rule lets somebody list who is no part of the control plane."""
    verbs = {verb for one in items(rule, "resourceRules") for verb in strings(one, "verbs")}
    return bool(verbs & _LISTS) and any(map(_outsider, items(rule, "subjects")))


def _outsider(who: Object) -> bool:
    if text(who, "kind") == "ServiceAccount":
        return not text(who, "serviceAccount", "namespace").startswith(_HOMES)
    named = text(who, "user", "name") or text(who, "group", "name")
    if named.startswith(_ACCOUNTS):
        return not named.split(":")[2].startswith(_HOMES)
    everybody = ("system:authenticated", "system:serviceaccounts", "system:unauthenticated", "*")
    return named in everybody or (bool(named) and not named.startswith(_OWN))
