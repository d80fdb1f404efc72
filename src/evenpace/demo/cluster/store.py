"""The objects of the emulated cluster, and what changed since when. What was handed out never changes."""

from __future__ import annotations

import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from evenpace.demo.cluster.refused import Refused, unknown_path
from evenpace.demo.cluster.resources import RESOURCES, Resource

Object = dict[str, Any]
REMEMBERED = 20_000  # changes that a watch can go back


class Way(StrEnum):
    """How an object changed, as a watch says it."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(frozen=True, slots=True)
class Change:
    """Hold one change: its number, the resource, and the object after it and before it."""

    version: int
    resource: str
    way: Way
    object: Object
    before: Object | None


class Store:
    """Hold objects by resource (`jobs.batch`), namespace and name; safe for several threads.

    Objects are replaced, never changed in place: what a method returned stays as it was.
    """

    def __init__(
        self,
        resources: Iterable[Resource] = RESOURCES,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.resources = {one.name: one for one in resources}
        self.changed = threading.Condition(threading.RLock())
        self.now = now
        self._version = 1
        self._objects: dict[str, dict[tuple[str, str], Object]] = {name: {} for name in self.resources}
        self._changes: deque[Change] = deque(maxlen=REMEMBERED)
        self._forgotten = 1  # the newest version that changes cannot be asked from any more

    @property
    def version(self) -> int:
        """Return the number of the last change."""
        return self._version

    def stamp(self) -> str:
        """Return the present time as objects carry it."""
        return self.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def objects(self, resource: str, namespace: str = "") -> tuple[list[Object], int]:
        """Return (all objects in the order of namespace and name, the version at which they are so)."""
        with self.changed:
            held, version = dict(self._held(resource)), self._version
        chosen = (key for key in held if not namespace or key[0] == namespace)
        return [held[key] for key in sorted(chosen)], version

    def get(self, resource: str, namespace: str, name: str) -> Object:
        """Return an object; raises Refused (404)."""
        with self.changed:
            found = self._held(resource).get((namespace, name))
        if found is None:
            known = self.resources[resource]
            details = {"name": name, "group": known.group, "kind": known.plural}
            raise Refused(404, f'{resource} "{name}" not found', **details)
        return found

    def create(self, resource: str, one: Object, dry: bool = False) -> Object:
        """Add an object and return it as it is kept; raises Refused (404, 409, 422)."""
        known = self.resources.get(resource)
        if known is None:
            raise unknown_path()
        kept = self._new(known, one)
        key = _key(kept)
        with self.changed:
            if key in self._objects[resource]:
                raise Refused(409, f'{resource} "{key[1]}" already exists', "AlreadyExists")
            if key[0] and (not dry) and ("", key[0]) not in self._objects.get("namespaces", {}):
                raise Refused(404, f'namespaces "{key[0]}" not found')
            return kept if dry else self._keep(resource, Way.ADDED, kept, None)

    def edit(
        self,
        resource: str,
        namespace: str,
        name: str,
        change: Callable[[Object], Object],
        dry: bool = False,
    ) -> Object:
        """Replace an object by what `change` makes of it; raises Refused.

        Name, namespace, uid and creation stay. An object that waits for finalizers goes with the last one.
        """
        with self.changed:
            old = self.get(resource, namespace, name)
            new = self._settled(old, change(old))
            if new == old:
                return old
            if dry:
                return new
            if "deletionTimestamp" in new["metadata"] and _finalizers(old) and not _finalizers(new):
                return self._drop(resource, new)
            return self._keep(resource, Way.MODIFIED, new, old)

    def delete(
        self, resource: str, namespace: str, name: str, force: bool = False, dry: bool = False
    ) -> Object:
        """Take an object away, or mark it where finalizers or a dead node hold it; return how it is then."""
        with self.changed:
            old = self.get(resource, namespace, name)
            held = _finalizers(old) or (not force and self._kubelet_is_gone(resource, old))
            if dry:
                return old
            if not held:
                return self._drop(resource, old)
            if "deletionTimestamp" in old["metadata"]:
                return old
            grace = (old.get("spec") or {}).get("terminationGracePeriodSeconds", 30)
            marks = {"deletionTimestamp": self.stamp(), "deletionGracePeriodSeconds": grace}
            marked = {**old, "metadata": {**old["metadata"], **marks}}
            return self._keep(resource, Way.MODIFIED, marked, old)

    def since(self, resource: str, version: int) -> tuple[list[Change], int]:
        """Return (the changes of a resource after `version`, the version now); raises Refused (410)."""
        with self.changed:
            if version < self._forgotten:
                raise Refused(410, f"too old resource version: {version} ({self._forgotten})")
            found = []
            for change in reversed(self._changes):
                if change.version <= version:
                    break
                if change.resource == resource:
                    found.append(change)
            return found[::-1], max(version, self._version)

    def forget(self) -> None:
        """Let all changes so far be forgotten: a watch from before gets 410, as after a compaction."""
        with self.changed:
            self._changes.clear()
            self._forgotten = self._version

    def serve(self, resource: Resource, served: bool) -> None:
        """Begin or stop to serve a resource; its objects stay, as if its definition came and went."""
        with self.changed:
            self._objects.setdefault(resource.name, {})
            if served:
                self.resources[resource.name] = resource
            else:
                self.resources.pop(resource.name, None)

    def _held(self, resource: str) -> dict[tuple[str, str], Object]:
        if resource not in self.resources:
            raise unknown_path()
        return self._objects[resource]

    def _new(self, known: Resource, one: Object) -> Object:
        metadata = dict(one.get("metadata") or {})
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = f"{metadata['generateName']}{uuid.uuid4().hex[:5]}"
        if not isinstance(metadata.get("name"), str) or not metadata["name"]:
            raise Refused(
                422, f"{known.kind} is invalid: metadata.name: Required value: name or generateName"
            )
        if known.namespaced:
            metadata.setdefault("namespace", "default")
        else:
            metadata.pop("namespace", None)
        metadata.setdefault("uid", str(uuid.uuid4()))
        metadata.setdefault("creationTimestamp", self.stamp())
        if "spec" in one:
            metadata.setdefault("generation", 1)
        return {**one, "apiVersion": known.api_version, "kind": known.kind, "metadata": metadata}

    def _settled(self, old: Object, new: Object) -> Object:
        """Return the new object with what nobody may change as it was."""
        metadata = dict(new.get("metadata") or {})
        wanted = metadata.get("resourceVersion")
        if wanted and wanted != old["metadata"]["resourceVersion"]:
            name = old["metadata"]["name"]
            message = "the object has been modified; please apply your changes to the latest version"
            raise Refused(409, f'Operation cannot be fulfilled on "{name}": {message}')
        for field in ("name", "namespace", "uid", "creationTimestamp", "resourceVersion", "generation"):
            if field in old["metadata"]:
                metadata[field] = old["metadata"][field]
            else:
                metadata.pop(field, None)
        if new.get("spec") != old.get("spec"):
            metadata["generation"] = old["metadata"].get("generation", 1) + 1
        return {**new, "apiVersion": old["apiVersion"], "kind": old["kind"], "metadata": metadata}

    def _kubelet_is_gone(self, resource: str, one: Object) -> bool:
        """Tell whether a pod is on a node that does not answer: nobody there confirms that it ended."""
        node = (one.get("spec") or {}).get("nodeName") if resource == "pods" else None
        ended = (one.get("status") or {}).get("phase") in ("Succeeded", "Failed")
        holder = self._objects.get("nodes", {}).get(("", node)) if node and not ended else None
        conditions = ((holder or {}).get("status") or {}).get("conditions") or ()
        return any(c.get("type") == "Ready" and c.get("status") != "True" for c in conditions)

    def _drop(self, resource: str, one: Object) -> Object:
        del self._objects[resource][_key(one)]
        return self._told(resource, Way.DELETED, one, one)

    def _keep(self, resource: str, way: Way, new: Object, old: Object | None) -> Object:
        kept = self._told(resource, way, new, old)
        self._objects[resource][_key(kept)] = kept
        return kept

    def _told(self, resource: str, way: Way, new: Object, old: Object | None) -> Object:
        self._version += 1
        told = {**new, "metadata": {**new["metadata"], "resourceVersion": str(self._version)}}
        if len(self._changes) == REMEMBERED:
            self._forgotten = self._changes[0].version
        self._changes.append(Change(self._version, resource, way, told, old))
        self.changed.notify_all()
        return told


def _finalizers(one: Object) -> bool:
    return bool(one["metadata"].get("finalizers"))


def _key(one: Object) -> tuple[str, str]:
    return one["metadata"].get("namespace", ""), one["metadata"]["name"]
