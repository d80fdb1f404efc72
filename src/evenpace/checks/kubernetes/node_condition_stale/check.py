"""Judge whether whoever sets conditions on nodes still does, on every node."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from evenpace.checks.answers import FINE, Answer, Details, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.conditions import others
from evenpace.collect.kubernetes.evidence import evidence, few, several
from evenpace.collect.kubernetes.fields import Object, condition, instant, items, name, text
from evenpace.collect.kubernetes.pools import ready, young
from evenpace.findings import Evidence

_OLD, _NEW = timedelta(hours=2), timedelta(hours=1)
_DEAD = timedelta(hours=6)  # that no node at all had it renewed
_FRESH = timedelta(minutes=10)  # the kubelet's own heartbeat


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each type of condition: one gap names all nodes on which it is no longer renewed."""
    seen: dict[str, list[tuple[Object, datetime, datetime | None]]] = {}
    for node in cluster.objects("nodes"):
        kubelet = instant(condition(node, "Ready"), "lastHeartbeatTime")
        if not ready(node) or not kubelet or abs(cluster.now - kubelet) > _FRESH or young(node, cluster.now):
            continue
        for one in others(node):
            if beat := instant(one, "lastHeartbeatTime"):
                changed = instant(one, "lastTransitionTime")
                seen.setdefault(text(one, "type"), []).append((node, beat, changed))
    for kind, found in sorted(seen.items()):
        stale = [node for node, beat, _ in found if cluster.now - beat > _OLD]
        if not stale or not _renewed(found, cluster.now):
            yield FINE
            continue
        names = sorted(map(name, stale))
        details: Details = {"condition": kind, "nodes": few(names), "first": names[0]}
        yield Gap(several(stale), (_quote(stale[0], kind),), details)


def _renewed(found: list[tuple[Object, datetime, datetime | None]], now: datetime) -> bool:
    """Tell whether a condition is renewed regularly, and not only written when it changes.

    Most nodes have it fresh; or none has, though on most its last heartbeat came long after it last changed.
    """
    fresh = sum(now - beat < _NEW for _, beat, _ in found)
    beating = sum(changed is not None and beat - changed > _OLD for _, beat, changed in found)
    dead = all(now - beat > _DEAD for _, beat, _ in found)
    return fresh > len(found) / 2 or (dead and beating > len(found) / 2)


def _quote(node: Object, kind: str) -> Evidence:
    types = [text(one, "type") for one in items(node, "status", "conditions")]
    return evidence(node, "status", "conditions", types.index(kind), "lastHeartbeatTime")
