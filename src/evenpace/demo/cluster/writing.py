"""Requests that change the emulated cluster: create, replace, patch, delete, evict where budgets allow it."""

from __future__ import annotations

from typing import Any

import msgspec

from evenpace.demo.cluster.asked import Request, Target
from evenpace.demo.cluster.patches import apply
from evenpace.demo.cluster.refused import Refused
from evenpace.demo.cluster.selectors import of
from evenpace.demo.cluster.store import Object, Store

Answer = tuple[int, dict[str, Any]]
_DONE = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}


def answer(request: Request, target: Target, store: Store) -> Answer:
    """Do what a request asks and return (code, document); raises Refused."""
    if target.subresource == "eviction":
        return _evict(request, target, store)
    if target.verb == "create":
        return _create(request, target, store)
    if target.verb == "deletecollection":
        return _delete_all(request, target, store)
    if target.verb == "delete":
        return _delete(request, target, store)
    return _edit(request, target, store)


def decoded(request: Request) -> Any:
    """Return the JSON of a body, None where there is none; raises Refused (400, 415)."""
    kind = request.headers.get("content-type", "")
    if "protobuf" in kind or "yaml" in kind or "cbor" in kind:
        raise Refused(
            415, f"the body of the request was in an unknown format - accepted is JSON, not {kind[:80]}"
        )
    try:
        return msgspec.json.decode(request.body) if request.body else None
    except (msgspec.DecodeError, RecursionError) as error:
        raise Refused(400, f"the body of the request is no JSON: {error}") from error


def _object(request: Request) -> Object:
    found = decoded(request)
    if not isinstance(found, dict) or not isinstance(found.get("metadata", {}), dict | None):
        raise Refused(400, "the body of the request is no object")
    return found


def _create(request: Request, target: Target, store: Store) -> Answer:
    one = _object(request)
    if target.resource.namespaced:
        named = (one.get("metadata") or {}).get("namespace") or target.namespace
        if named != target.namespace:
            raise Refused(
                400, "the namespace of the provided object does not match the namespace sent on the request"
            )
        one = {**one, "metadata": {**(one.get("metadata") or {}), "namespace": target.namespace}}
    if "status" in target.resource.subresources:
        one.pop("status", None)
    return 201, store.create(target.resource.name, one, request.dry)


def _edit(request: Request, target: Target, store: Store) -> Answer:
    sent = decoded(request) if target.verb == "patch" else _object(request)
    kind = request.headers.get("content-type", "").partition(";")[0].strip()

    def change(old: Object) -> Object:
        new = apply(kind, old, sent, target.resource.builtin) if target.verb == "patch" else sent
        return _part(target, old, new)

    return 200, store.edit(target.resource.name, target.namespace, target.name, change, request.dry)


def _part(target: Target, old: Object, new: Object) -> Object:
    """Return what may change: through `/status` the status alone, else all but the status."""
    if target.subresource == "status":
        version = (new.get("metadata") or {}).get("resourceVersion")
        metadata = {**old["metadata"], **({"resourceVersion": version} if version else {})}
        return {**old, "metadata": metadata, **({"status": new["status"]} if "status" in new else {})}
    if "status" not in target.resource.subresources:
        return new
    kept = {key: value for key, value in new.items() if key != "status"}
    return {**kept, "status": old["status"]} if "status" in old else kept


def _delete(request: Request, target: Target, store: Store) -> Answer:
    options = decoded(request) or {}
    force = _grace(request, options) == 0
    wanted = (options.get("preconditions") or {}).get("uid") if isinstance(options, dict) else None
    old = store.get(target.resource.name, target.namespace, target.name)
    if wanted and wanted != old["metadata"]["uid"]:
        raise Refused(409, f"the UID in the precondition ({wanted}) does not match")
    left = store.delete(target.resource.name, target.namespace, target.name, force, request.dry)
    if "deletionTimestamp" in left["metadata"] or target.resource.name == "pods":
        return 200, left
    details = {"name": target.name, "kind": target.resource.plural, "uid": old["metadata"]["uid"]}
    return 200, {**_DONE, "details": details}


def _grace(request: Request, options: Any) -> int | None:
    asked = options.get("gracePeriodSeconds") if isinstance(options, dict) else None
    if asked is None and "gracePeriodSeconds" in request.query:
        return request.whole("gracePeriodSeconds")
    return asked if isinstance(asked, int) else None


def _delete_all(request: Request, target: Target, store: Store) -> Answer:
    resource = target.resource.name
    wanted = request.selector(resource)
    force = _grace(request, decoded(request)) == 0
    for one in store.objects(resource, target.namespace)[0]:
        if wanted(one):
            metadata = one["metadata"]
            store.delete(resource, metadata.get("namespace", ""), metadata["name"], force, request.dry)
    return 200, _DONE


def _evict(request: Request, target: Target, store: Store) -> Answer:
    """Delete a pod where its budgets allow it, as the eviction API does; a refusal is a 429."""
    with store.changed:
        pod = store.get("pods", target.namespace, target.name)
        budgets = store.objects("poddisruptionbudgets.policy", target.namespace)[0]
        asked = [one for one in budgets if _covers(one, pod)] if _counts(pod) else []
        if len(asked) > 1:
            raise Refused(500, "This pod has more than one PodDisruptionBudget.", "InternalError")
        for budget in asked:
            _take(budget, store, request.dry)
        force = _grace(request, (decoded(request) or {}).get("deleteOptions")) == 0
        store.delete("pods", target.namespace, target.name, force, request.dry)
    return 201, {**_DONE, "code": 201}


def _counts(pod: Object) -> bool:
    """Tell whether a pod's eviction is one that budgets count: it has not ended, and is not ending."""
    ended = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed", "Pending")
    return not ended and "deletionTimestamp" not in pod["metadata"]


def _covers(budget: Object, pod: Object) -> bool:
    spec = (budget.get("spec") or {}).get("selector")
    return spec is not None and of(spec)(pod)


def _take(budget: Object, store: Store, dry: bool) -> None:
    allowed = (budget.get("status") or {}).get("disruptionsAllowed", 0)
    name = budget["metadata"]["name"]
    if allowed <= 0:
        cause = {
            "reason": "DisruptionBudget",
            "message": f"Budget {name} allows no disruption",
        }
        raise Refused(
            429, "Cannot evict pod as it would violate the pod's disruption budget.", causes=[cause]
        )

    def taken(old: Object) -> Object:
        return {**old, "status": {**old["status"], "disruptionsAllowed": allowed - 1}}

    store.edit("poddisruptionbudgets.policy", budget["metadata"]["namespace"], name, taken, dry)
