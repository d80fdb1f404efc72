"""Signs of life: leases that are renewed and conditions that are confirmed, as kubelets and agents do it."""

from __future__ import annotations

from datetime import datetime, timedelta

from evenpace.collect.kubernetes.fields import condition, instant, text
from evenpace.demo.cluster.parts import at, micro
from evenpace.demo.cluster.store import Object, Store

_LATE = timedelta(minutes=5)  # what is older than that beside the newest has stopped


def beat(store: Store) -> None:
    """Renew what the nodes renew; what had stopped, or runs ahead, stays as it is."""
    now = store.now()
    for node in store.objects("nodes")[0]:
        if text(condition(node, "Ready"), "status") == "True":
            name = node["metadata"]["name"]
            store.edit("nodes", "", name, lambda one: _confirmed(one, now))
            store.edit("leases.coordination.k8s.io", "kube-node-lease", name, lambda one: _renewed(one, now))


def _confirmed(node: Object, now: datetime) -> Object:
    status = node["status"]
    newest = max(filter(None, (instant(one, "lastHeartbeatTime") for one in status["conditions"])))
    conditions = [
        {**one, "lastHeartbeatTime": at(now)} if _alive(one, newest) else one for one in status["conditions"]
    ]
    return {**node, "status": {**status, "conditions": conditions}}


def _alive(one: Object, newest: datetime) -> bool:
    seen = instant(one, "lastHeartbeatTime")
    return seen is not None and newest - seen < _LATE


def _renewed(lease: Object, now: datetime) -> Object:
    seen = instant(lease, "spec", "renewTime")
    if seen is None or seen > now:
        return lease
    return {**lease, "spec": {**lease["spec"], "renewTime": micro(now)}}
