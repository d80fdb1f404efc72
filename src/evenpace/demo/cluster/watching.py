"""Watches: what changed since a version, and from then on as it changes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from evenpace.demo.cluster.asked import Request, Target
from evenpace.demo.cluster.refused import Refused
from evenpace.demo.cluster.selectors import Selector
from evenpace.demo.cluster.store import Change, Object, Store, Way

Event = dict[str, Any]
LONGEST = 1800.0  # seconds, where a client names no other time
_TURN = 0.5  # seconds after which a quiet watch looks whether the server ends


def events(request: Request, target: Target, store: Store) -> Iterator[Event | None]:
    """Yield events until the client's `timeoutSeconds` are over, and None now and then while it is quiet.

    Raises Refused before the first event where the request is wrong.
    """
    wanted = request.selector(target.resource.name)
    end = time.monotonic() + (request.whole("timeoutSeconds") or LONGEST)
    return _events(request, target, store, wanted, request.whole("resourceVersion"), end)


def _events(  # noqa: PLR0913, PLR0917 - what a watch is made of
    request: Request, target: Target, store: Store, wanted: Selector, version: int, end: float
) -> Iterator[Event | None]:
    if not version:
        found, version = store.objects(target.resource.name, target.namespace)
        yield from ({"type": "ADDED", "object": one} for one in found if wanted(one))
        if request.flag("sendInitialEvents"):
            yield _bookmark(target, version, {"k8s.io/initial-events-end": "true"})
    while (left := end - time.monotonic()) > 0:
        try:
            changes, version = store.since(target.resource.name, version)
        except Refused as refused:
            yield {"type": "ERROR", "object": refused.status()}
            return
        for change in changes:
            yield from _seen(change, target.namespace, wanted)
        if not changes:
            _wait(store, version, min(left, _TURN))
            yield None
    if request.flag("allowWatchBookmarks"):
        yield _bookmark(target, version, {})


def _wait(store: Store, version: int, seconds: float) -> None:
    with store.changed:
        if store.version <= version:
            store.changed.wait(seconds)


def _seen(change: Change, namespace: str, wanted: Selector) -> Iterator[Event]:
    """Yield the event that a watcher with a selector sees: what stops to match goes, what begins to comes."""
    if namespace and change.object["metadata"].get("namespace") != namespace:
        return
    is_now = change.way is not Way.DELETED and wanted(change.object)
    was = change.before is not None and wanted(change.before)
    if is_now:
        yield {"type": "MODIFIED" if was else "ADDED", "object": change.object}
    elif was:
        yield {"type": "DELETED", "object": change.object}


def _bookmark(target: Target, version: int, annotations: dict[str, str]) -> Event:
    metadata: Object = {"resourceVersion": str(version)}
    if annotations:
        metadata["annotations"] = annotations
    one = {"kind": target.resource.kind, "apiVersion": target.resource.api_version, "metadata": metadata}
    return {"type": "BOOKMARK", "object": one}
