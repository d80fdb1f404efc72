"""A Kubernetes cluster as a check sees it: the objects of the kinds that the check declared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from evenpace.collect.facts import Facts
from evenpace.collect.kubernetes.fields import Object

_T = TypeVar("_T")


class Cluster(Facts):
    """Give a check the objects of its own kinds; another kind is a mistake in the check and raises."""

    def objects(self, kind: str) -> tuple[Object, ...]:
        """Return the objects of a declared kind, none where it was not read; another raises LookupError."""
        found = self._read(kind, ())
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

    def declares(self, kind: str) -> bool:
        """Tell whether the check may look at `kind`."""
        return kind in self._kinds
