"""What the controller of DaemonSets does: no pod stays where its DaemonSet no longer runs."""

from __future__ import annotations

from evenpace.collect.kubernetes.fields import name, namespace, owner, text
from evenpace.collect.kubernetes.matching import daemon_runs_on
from evenpace.demo.cluster.store import Object, Store

DAEMONSETS = "daemonsets.apps"
# What the status counts of a DaemonSet whose pods all run.
COUNTS = (
    *("currentNumberScheduled", "desiredNumberScheduled", "updatedNumberScheduled"),
    *("numberAvailable", "numberReady"),
)


def take_strays(store: Store, daemonset: Object) -> list[Object]:
    """Take the pods away that a DaemonSet, as it is now or gone, places no longer; return them."""
    places = {name(node): node for node in store.objects("nodes")[0]}
    now = next(
        (one for one in store.objects(DAEMONSETS, namespace(daemonset))[0] if _same(one, daemonset)), None
    )
    strays = [
        pod
        for pod in store.objects("pods", namespace(daemonset))[0]
        if text(owner(pod), "uid") == text(daemonset, "metadata", "uid")
        and (now is None or not daemon_runs_on(now, places.get(text(pod, "spec", "nodeName"), {})))
    ]
    for pod in strays:
        store.delete("pods", namespace(pod), name(pod), force=True)
    if now is not None and strays:
        store.edit(DAEMONSETS, namespace(now), name(now), lambda one: _counted(one, len(strays)))
    return strays


def _same(one: Object, other: Object) -> bool:
    return text(one, "metadata", "uid") == text(other, "metadata", "uid")


def _counted(daemonset: Object, fewer: int) -> Object:
    status = daemonset.get("status") or {}
    return {
        **daemonset,
        "status": {**status, **{key: status[key] - fewer for key in COUNTS if key in status}},
    }
