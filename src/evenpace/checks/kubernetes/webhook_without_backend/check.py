"""Judge whether there is anybody to answer the admission webhooks that must be answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evenpace.checks.answers import FINE, Answer, Details, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import Object, condition, items, labels, name, namespace, table, text
from evenpace.collect.kubernetes.matching import matches

_GROUP = "webhookconfigurations.admissionregistration.k8s.io"
_KINDS = (f"validating{_GROUP}", f"mutating{_GROUP}")
_FIELDS = (("clientConfig", "service"), ("failurePolicy",), ("rules",))


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each configuration with a webhook that fails closed and that pods here serve."""
    found = cluster.objects("services")
    services: dict[tuple[str, ...], Object] = {(namespace(one), name(one)): one for one in found}
    pods: dict[str, list[Object]] = {}
    for pod in cluster.objects("pods"):
        if text(condition(pod, "Ready"), "status") == "True":
            pods.setdefault(namespace(pod), []).append(pod)
    for configuration in (one for kind in _KINDS for one in cluster.objects(kind)):
        hooks = items(configuration, "webhooks")
        closed = [place for place, hook in enumerate(hooks) if _home(hook)]
        silent = [place for place in closed if not _answered(_home(hooks[place]), services, pods)]
        if not silent:
            yield from [FINE] if closed else []
            continue
        hook = hooks[silent[0]]
        told = tuple(evidence(configuration, "webhooks", silent[0], *path) for path in _FIELDS)
        details: Details = {
            "webhook": text(hook, "name"),
            "service": "/".join(_home(hook)),
            "hooks": len(silent),
        }
        yield Gap(subject(configuration), told, details)


def _home(hook: Object) -> tuple[str, ...]:
    """Return (namespace, name) of the service of a webhook that fails closed; nothing for others."""
    wanted = table(hook, "clientConfig", "service")
    closed = text(hook, "failurePolicy", default="Fail") == "Fail"
    return (text(wanted, "namespace"), text(wanted, "name")) if closed and wanted else ()


def _answered(
    home: tuple[str, ...], services: Mapping[tuple[str, ...], Object], pods: Mapping[str, list[Object]]
) -> bool:
    """Tell whether a service has a ready pod; one without a selector is served from elsewhere."""
    service = services.get(home)
    if service is None:
        return False
    selector = table(service, "spec", "selector")
    serving = (matches({"matchLabels": selector}, labels(pod)) for pod in pods.get(home[0], ()))
    return not selector or any(serving)
