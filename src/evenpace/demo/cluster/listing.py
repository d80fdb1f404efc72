"""Lists, whole or page by page: the pages of one list show the cluster as it was at the first of them."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from typing import Any

from evenpace.demo.cluster.asked import Request, Target
from evenpace.demo.cluster.refused import Refused
from evenpace.demo.cluster.store import Object, Store

HELD = 64  # lists that are being paged; the oldest expires


class Lists:
    """Answer list requests over a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._held: OrderedDict[str, tuple[list[Object], int]] = OrderedDict()

    def answer(self, request: Request, target: Target) -> dict[str, Any]:
        """Return a page; raises Refused (400, or 410 where `continue` is no longer known)."""
        limit, token = request.whole("limit"), request.query.get("continue", "")
        if token:
            found, version, start = self._resumed(token)
        else:
            start = 0
            wanted = request.selector(target.resource.name)
            found, version = self._store.objects(target.resource.name, target.namespace)
            found = [one for one in found if wanted(one)]
        stop = start + limit if limit else len(found)
        metadata: dict[str, Any] = {"resourceVersion": str(version)}
        if stop < len(found):
            metadata["continue"] = self._kept(token, found, version, stop)
            metadata["remainingItemCount"] = len(found) - stop
        return {
            "kind": f"{target.resource.kind}List",
            "apiVersion": target.resource.api_version,
            "metadata": metadata,
            "items": found[start:stop],
        }

    def expire(self) -> None:
        """Let all lists that are being paged expire, as after a compaction: their next page gets 410."""
        with self._lock:
            self._held.clear()

    def _kept(self, token: str, found: list[Object], version: int, stop: int) -> str:
        key = token.partition(".")[0] or secrets.token_hex(8)
        with self._lock:
            self._held[key] = (found, version)
            self._held.move_to_end(key)
            if len(self._held) > HELD:
                self._held.popitem(last=False)
        return f"{key}.{stop}"

    def _resumed(self, token: str) -> tuple[list[Object], int, int]:
        key, _, start = token.partition(".")
        if not start.isdecimal() or len(start) > 9:
            raise Refused(400, "continue key is not valid")
        with self._lock:
            held = self._held.get(key)
        if held is None:
            raise Refused(
                410,
                "The provided continue parameter is too old to display a consistent list result. "
                "You must start a new list without the continue parameter.",
            )
        return *held, int(start)
