"""A Kubernetes cluster as a check sees it: the objects of the kinds that the check declared."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import TypeVar

from evenpace.collect.kubernetes.fields import Object
from evenpace.collect.snapshot import Snapshot, Unread

_T = TypeVar("_T")


class Cluster:
    """Give a check the objects of its own kinds; another kind is a mistake in the check and raises."""

    def __init__(self, snapshot: Snapshot, kinds: Collection[str]) -> None:
        self._snapshot = snapshot
        self._kinds = frozenset(kinds)

    @property
    def now(self) -> datetime:
        """Return the time at which the cluster was read."""
        return self._snapshot.taken

    @property
    def version(self) -> str | None:
        """Return the server's version, such as `v1.33.1`, where it is known."""
        return self._snapshot.version

    def objects(self, kind: str) -> tuple[Object, ...]:
        """Return the objects of a declared kind, none where it was not read; another raises LookupError."""
        self._declared(kind)
        found = self._snapshot.kinds.get(kind, ())
        return (
            tuple(one for one in found if isinstance(one, dict | Mapping))
            if isinstance(found, list | tuple)
            else ()
        )

    def once(self, kind: str, name: str, make: Callable[[], _T]) -> _T:
        """Return what `make` works out of a declared kind alone; all checks of a snapshot share it."""
        self._declared(kind)
        if name not in self._snapshot.derived:
            self._snapshot.derived[name] = make()
        found: _T = self._snapshot.derived[name]
        return found

    def reason(self, kind: str) -> Unread | None:
        """Return why a declared kind was not read; None where it was."""
        self._declared(kind)
        return self._snapshot.reason(kind)

    def declares(self, kind: str) -> bool:
        """Tell whether the check may look at `kind`."""
        return kind in self._kinds

    def _declared(self, kind: str) -> None:
        if kind not in self._kinds:
            raise LookupError(f"check.toml does not name the kind {kind}")
