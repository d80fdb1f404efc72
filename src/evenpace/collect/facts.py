"""What a check sees of a snapshot, of either family: the kinds that it declared and no other."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from evenpace.collect.snapshot import Snapshot, Unread


class Facts:
    """Give a check what was read of its own kinds; another kind is a mistake in the check and raises."""

    def __init__(self, snapshot: Snapshot, kinds: Collection[str]) -> None:
        self._snapshot = snapshot
        self._kinds = frozenset(kinds)

    @property
    def now(self) -> datetime:
        """Return the time at which the cluster was read."""
        return self._snapshot.taken

    @property
    def version(self) -> str | None:
        """Return the version, such as `v1.33.1` of Kubernetes or `24.11.5` of Slurm, where it is known."""
        return self._snapshot.version

    def reason(self, kind: str) -> Unread | None:
        """Return why a declared kind was not read; None where it was."""
        self._declared(kind)
        return self._snapshot.reason(kind)

    def _read(self, kind: str, empty: Any) -> Any:
        self._declared(kind)
        return self._snapshot.kinds.get(kind, empty)

    def _declared(self, kind: str) -> None:
        if kind not in self._kinds:
            raise LookupError(f"check.toml does not name the kind {kind}")
