"""Ask a server which kinds it serves, and in which version: what it does not serve is absent, not unread."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from evenpace.collect.kubernetes.fields import Object, flag, items, strings, text
from evenpace.collect.kubernetes.kinds import KINDS, Kind
from evenpace.collect.kubernetes.objects import UNREADABLE
from evenpace.collect.kubernetes.side_by_side import Crew
from evenpace.collect.kubernetes.transport import Refusal, Transport
from evenpace.collect.snapshot import Unread, Why

_CORE = ("v1",)
_VERSION = re.compile(r"v[0-9]{1,4}(?:(?:alpha|beta)[0-9]{1,4})?")
_MOST = 10  # versions of a group


@dataclass(frozen=True, slots=True)
class Place:
    """Say where the objects of a kind are: `/apis/batch/v1`, `batch/v1`."""

    kind: Kind
    folder: str
    version: str
    namespaced: bool

    def path(self, namespace: str | None = None, name: str | None = None) -> str:
        """Return the path of the whole list, or of a part of it."""
        steps = (
            self.folder,
            f"namespaces/{namespace}" if namespace and self.namespaced else "",
            self.kind.plural,
            name or "",
        )
        return "/".join(step for step in steps if step)


def places(transport: Transport, crew: Crew, names: Collection[str]) -> dict[str, Place | Unread]:
    """Return for each kind where it is, or why it cannot be read."""
    kinds = [KINDS[name] for name in names]
    served = _groups(transport, crew)
    if isinstance(served, Unread):
        return {kind.name: served for kind in kinds}
    wanted = {
        (kind.group, version): _folder(kind.group, version)
        for kind in kinds
        for version in served.get(kind.group, ())
    }
    answers = crew.results({folder: partial(_asked, transport, folder) for folder in wanted.values()})
    lists = {key: answers.get(folder, crew.late(f"get {folder}")) for key, folder in wanted.items()}
    return {kind.name: _place(kind, served.get(kind.group, ()), lists) for kind in kinds}


def _groups(transport: Transport, crew: Crew) -> Mapping[str, Sequence[str]] | Unread:
    """Return the versions of each group, the core's as the group without a name."""
    answers = crew.results({"/apis": partial(_asked, transport, "/apis")})
    answer = answers.get("/apis", crew.late("get /apis"))
    if isinstance(answer, Unread):
        return answer
    named = {text(group, "name"): _named(group) for group in items(answer, "groups")}
    return {**named, "": _CORE}


def _named(group: Object) -> tuple[str, ...]:
    """Return the versions of a group, as far as they can be versions: they become a part of paths."""
    found = (text(one, "version") for one in items(group, "versions"))
    return tuple(version for version in found if _VERSION.fullmatch(version))[:_MOST]


def _folder(group: str, version: str) -> str:
    return f"/apis/{group}/{version}" if group else f"/api/{version}"


def _asked(transport: Transport, path: str) -> Object | Unread:
    try:
        answer: Any = msgspec.json.decode(transport.get(path))
    except Refusal as refusal:
        return Unread(refusal.why, f"get {path}", refusal.detail)
    except UNREADABLE as error:
        return Unread(Why.MALFORMED, f"get {path}", str(error)[:200])
    if not isinstance(answer, Mapping):
        return Unread(Why.MALFORMED, f"get {path}", "no object")
    return answer


def _place(
    kind: Kind, versions: Sequence[str], lists: Mapping[tuple[str, str], Object | Unread]
) -> Place | Unread:
    """Return the first of the versions that evenpace knows in which the kind is served."""
    lacking = Unread(Why.ABSENT, kind.name)
    for version in (*kind.versions, *sorted(set(versions) - set(kind.versions))):
        found = lists.get((kind.group, version))
        if isinstance(found, Unread):
            lacking = found if found.why is not Why.ABSENT else lacking
        elif found is not None and (one := _resource(found, kind.plural)) is not None:
            if version not in kind.versions:
                return Unread(
                    Why.FAILED, f"list {kind.name}", f"served as {version[:40]}, which is not known"
                )
            full = f"{kind.group}/{version}" if kind.group else version
            return Place(kind, _folder(kind.group, version), full, bool(flag(one, "namespaced")))
    return lacking


def _resource(answer: Object, plural: str) -> Object | None:
    return next(_listable(answer, plural), None)


def _listable(answer: Object, plural: str) -> Iterator[Object]:
    for one in items(answer, "resources"):
        if text(one, "name") == plural and "list" in strings(one, "verbs"):
            yield one
