"""Judge whether anything fetches the metrics that exporters of accelerators offer."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap, Unsure
from evenpace.collect.kubernetes.agents import COLLECTORS, EXPORTERS, called
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, few, listed, subject
from evenpace.collect.kubernetes.fields import Object, dig, flag, labels, name, namespace, strings, table
from evenpace.collect.kubernetes.matching import matches

_SERVICE, _POD = "servicemonitors.monitoring.coreos.com", "podmonitors.monitoring.coreos.com"
_SCRAPE = "prometheus.io/scrape"


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each exporter's DaemonSet; where Prometheus may be told in its own file, none is sure."""
    daemonsets = cluster.objects("daemonsets.apps")
    agents = [one for one in daemonsets if called(one, COLLECTORS) or namespace(one) == "gmp-system"]
    for one in daemonsets:
        if not called(one, EXPORTERS) or called(one, COLLECTORS):
            continue
        monitors = cluster.objects(_SERVICE) + cluster.objects(_POD)
        if _asked_for(one) or any(map(_asked_for, _services(cluster, one))) or _monitored(cluster, one):
            yield FINE
        elif agents or not monitors:
            yield Unsure(subject(one), {"by": few([name(agent) for agent in agents]) or "prometheus.yml"})
        else:
            told = (evidence(one, "spec", "template", "metadata"), listed(f"{_SERVICE}, {_POD}", monitors))
            yield Gap(subject(one), told)


def _asked_for(one: Object) -> bool:
    """Tell whether an annotation asks Prometheus to fetch: of a service, or of a DaemonSet's pods."""
    places = (("metadata",), ("spec", "template", "metadata"))
    return any(dig(one, *place, "annotations", _SCRAPE) in ("true", True) for place in places)


def _services(cluster: Cluster, daemonset: Object) -> list[Object]:
    pods = labels(table(daemonset, "spec", "template"))
    return [
        one
        for one in cluster.objects("services")
        if namespace(one) == namespace(daemonset)
        and (wanted := table(one, "spec", "selector"))
        and wanted.items() <= pods.items()
    ]


def _monitored(cluster: Cluster, daemonset: Object) -> bool:
    pods, home = labels(table(daemonset, "spec", "template")), namespace(daemonset)
    services = [labels(one) for one in _services(cluster, daemonset)]
    found = [(one, services) for one in cluster.objects(_SERVICE)]
    found += [(one, [pods]) for one in cluster.objects(_POD)]
    return any(
        _reaches(one, home) and matches(table(one, "spec", "selector"), target)
        for one, targets in found
        for target in targets
    )


def _reaches(monitor: Object, home: str) -> bool:
    chosen = table(monitor, "spec", "namespaceSelector")
    return flag(chosen, "any") is True or home in (strings(chosen, "matchNames") or (namespace(monitor),))
