"""Process groups by the key that their records carry: published as JSON lines beside the ring."""

from __future__ import annotations

import json
import os
import time
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

from . import layout


def backend_keys(distributed: ModuleType, group: Any) -> dict[str, int]:
    """Return the address of each backend object of a process group, by backend type (GLOO, NCCL, ...)."""
    keys = {}
    for name, kind in distributed.ProcessGroup.BackendType.__members__.items():
        try:
            keys[name] = int(group._backend_id(kind))
        except RuntimeError:  # the group has no backend of that type
            continue
    return keys


class Groups:
    """Publishes each group once. Never raises: a group that cannot be published is only nameless."""

    def __init__(self, distributed: ModuleType, ring_path: str, sees: Callable[[int], bool]) -> None:
        self.unseen: list[str] = []  # groups with a backend whose operations the tap does not see
        self._sees = sees
        self._distributed = distributed
        self._path = ring_path.removesuffix(layout.RING_SUFFIX) + layout.GROUPS_SUFFIX
        self._seen: weakref.WeakSet[Any] = weakref.WeakSet()

    def publish(self) -> None:
        """Append a line for each backend of each group that is new since the last call."""
        try:
            known = list(self._distributed._world.pg_group_ranks.items())
            # A number stands there for the groups that this worker is not in.
            new = [one for one in known if not isinstance(one[0], int) and one[0] not in self._seen]
            if new:
                self._publish(new)
                self._seen.update(group for group, _ in new)
        except Exception:  # a dict that changes while it is listed, a full disk: the next call tries again
            return

    def _publish(self, groups: list[tuple[Any, dict[int, int]]]) -> None:
        lines, unseen = "", []
        for group, ranks in groups:
            name, ordered = str(group.group_name), sorted(ranks, key=lambda rank: ranks[rank])
            keys = set(backend_keys(self._distributed, group).values())
            lines += "".join(_line(key, name, ordered) for key in keys)
            unseen += [name for key in keys if not self._sees(key)]
        self._append(lines)
        self.unseen += unseen

    def _append(self, text: str) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK
        descriptor = os.open(self._path, flags, 0o600)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)


def _line(key: int, name: str, ranks: list[int]) -> str:
    return json.dumps({"key": key, "name": name, "ranks": ranks, "ns": time.monotonic_ns()}) + "\n"
