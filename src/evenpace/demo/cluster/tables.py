"""Tables for people: what `kubectl get` prints is made by the server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from evenpace.collect.kubernetes.fields import condition, dig, instant, items, number, quantity, table, text
from evenpace.demo.cluster.store import Object

Cells = Callable[[Object], list[Any]]


def wanted(accept: str) -> bool:
    """Tell whether a client asks for a Table first."""
    return "as=Table" in accept.partition(",")[0]


def of(
    resource: str, found: Sequence[Object], metadata: Object, now: datetime, headed: bool = True
) -> Object:
    """Return objects as a Table; a watch sends the head once only."""
    head, cells = _COLUMNS.get(resource, ((), lambda _: []))
    names = ("Name", *head, "Age")
    rows = [{"cells": [_name(one), *cells(one), _age(one, now)], "object": _partial(one)} for one in found]
    columns = [
        {"name": name, "type": "string", "format": "", "description": "", "priority": 0} for name in names
    ]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": columns if headed else None,
        "rows": rows,
    }


def _name(one: Object) -> str:
    return text(one, "metadata", "name")


def _partial(one: Object) -> Object:
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": one["metadata"]}


def _age(one: Object, now: datetime) -> str:
    made = instant(one, "metadata", "creationTimestamp")
    return _span((now.astimezone(UTC) - made).total_seconds()) if made else "<unknown>"


def _span(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * size:
            return f"{int(seconds // size)}{unit}"
    return f"{max(0, int(seconds))}s"


def _node(one: Object) -> list[Any]:
    ready = text(condition(one, "Ready"), "status") == "True"
    state = "Ready" if ready else "NotReady"
    if dig(one, "spec", "unschedulable"):
        state += ",SchedulingDisabled"
    roles = [
        key.partition("/")[2] for key in table(one, "metadata", "labels") if key.startswith("node-role.")
    ]
    return [state, ",".join(roles) or "<none>", text(one, "status", "nodeInfo", "kubeletVersion")]


def _pod(one: Object) -> list[Any]:
    states = items(one, "status", "containerStatuses")
    ready = sum(1 for state in states if dig(state, "ready"))
    restarts = sum(int(number(state, "restartCount") or 0) for state in states)
    gone = dig(one, "metadata", "deletionTimestamp")
    state = "Terminating" if gone else text(one, "status", "reason") or text(one, "status", "phase")
    return [f"{ready}/{len(items(one, 'spec', 'containers'))}", state, str(restarts)]


def _event(one: Object) -> list[Any]:
    about = f"{text(one, 'involvedObject', 'kind').lower()}/{text(one, 'involvedObject', 'name')}"
    return [text(one, "type"), text(one, "reason"), about, text(one, "message")]


def _daemons(one: Object) -> list[Any]:
    fields = ("desiredNumberScheduled", "numberReady")
    return [str(int(number(one, "status", field) or 0)) for field in fields]


def _replicas(one: Object) -> list[Any]:
    wanted, ready = number(one, "spec", "replicas"), number(one, "status", "readyReplicas")
    return [f"{int(ready or 0)}/{int(1 if wanted is None else wanted)}"]


def _job(one: Object) -> list[Any]:
    done = [text(c, "type") for c in items(one, "status", "conditions") if text(c, "status") == "True"]
    state = next((kind for kind in done if kind in ("Complete", "Failed", "Suspended")), "Running")
    ended, wanted = number(one, "status", "succeeded"), number(one, "spec", "completions")
    return [state, f"{int(ended or 0)}/{int(wanted or 1)}"]


def _jobset(one: Object) -> list[Any]:
    state = text(one, "status", "terminalState") or "Running"
    return [state, str(int(number(one, "status", "restarts") or 0))]


def _budget(one: Object) -> list[Any]:
    bounds = [dig(one, "spec", "minAvailable"), dig(one, "spec", "maxUnavailable")]
    allowed = number(one, "status", "disruptionsAllowed")
    return [*("N/A" if bound is None else str(bound) for bound in bounds), str(int(allowed or 0))]


def _claim(one: Object) -> list[Any]:
    size = quantity(one, "spec", "resources", "requests", "storage")
    modes = ",".join(dig(one, "spec", "accessModes") or ())
    return [text(one, "status", "phase"), f"{int((size or 0) / 2**30)}Gi", modes]


def _priority(one: Object) -> list[Any]:
    return [str(int(number(one, "value") or 0)), str(bool(dig(one, "globalDefault"))).lower()]


_COLUMNS: dict[str, tuple[tuple[str, ...], Cells]] = {
    "nodes": (("Status", "Roles", "Version"), _node),
    "pods": (("Ready", "Status", "Restarts"), _pod),
    "events": (("Type", "Reason", "Object", "Message"), _event),
    "daemonsets.apps": (("Desired", "Ready"), _daemons),
    "deployments.apps": (("Ready",), _replicas),
    "statefulsets.apps": (("Ready",), _replicas),
    "jobs.batch": (("Status", "Completions"), _job),
    "jobsets.jobset.x-k8s.io": (("State", "Restarts"), _jobset),
    "poddisruptionbudgets.policy": (("Min Available", "Max Unavailable", "Allowed Disruptions"), _budget),
    "persistentvolumeclaims": (("Status", "Capacity", "Access Modes"), _claim),
    "priorityclasses.scheduling.k8s.io": (("Value", "Global-Default"), _priority),
}
