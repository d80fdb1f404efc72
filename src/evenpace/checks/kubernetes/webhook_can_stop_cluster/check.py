"""Judge whether an admission webhook that does not answer stops what the cluster itself needs."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Details, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import Object, items, labels, name, strings, table, text
from evenpace.collect.kubernetes.matching import matches

_GROUP = "webhookconfigurations.admissionregistration.k8s.io"
_KINDS = (f"validating{_GROUP}", f"mutating{_GROUP}")
_VITAL = frozenset(("*", "*/*", "pods", "pods/*", "nodes", "nodes/*", "leases", "configmaps"))
_GROUPS = frozenset(("", "*", "coordination.k8s.io"))
_WRITES = frozenset(("*", "CREATE", "UPDATE"))
_HOME = "kubernetes.io/metadata.name"


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each configuration; webhooks that objects opt into by a label are fine."""
    found = [labels(one) for one in cluster.objects("namespaces") if name(one) == "kube-system"]
    system = {_HOME: "kube-system", **(found[0] if found else {})}
    for configuration in (one for kind in _KINDS for one in cluster.objects(kind)):
        hooks = [(hook, _vital(hook, system)) for hook in items(configuration, "webhooks")]
        places = [place for place, (_, vital) in enumerate(hooks) if vital]
        if not places:
            yield FINE
            continue
        hook, vital = hooks[places[0]]
        fields = ("failurePolicy", "namespaceSelector", "rules")
        told = tuple(evidence(configuration, "webhooks", places[0], field) for field in fields)
        details: Details = {
            "webhook": text(hook, "name"),
            "resources": ", ".join(vital),
            "hooks": len(places),
        }
        yield Gap(subject(configuration), told, details)


def _vital(hook: Object, system: dict[str, str]) -> list[str]:
    """Return the resources in kube-system whose writing a webhook can stop; none for one that cannot."""
    if text(hook, "failurePolicy", default="Fail") != "Fail" or not table(hook, "clientConfig", "service"):
        return []
    if items(hook, "matchConditions") or not matches(table(hook, "objectSelector"), {}):
        return []
    inside = matches(table(hook, "namespaceSelector"), system)
    found: set[str] = set()
    for rule in items(hook, "rules"):
        if _GROUPS & set(strings(rule, "apiGroups")) and _WRITES & set(strings(rule, "operations")):
            found |= _VITAL & set(strings(rule, "resources"))
    return sorted(one for one in found if inside or one.startswith("nodes"))
