"""Read a folder of `kubectl get … -o json`: the same facts as a live cluster gives, without a server.

Any file names do: objects say what they are. A list without objects is known by its file's name
(`jobsets.jobset.x-k8s.io.json`, `jobsets.json`). `api-resources.txt` (`kubectl api-resources -o name`) tells
what the cluster does not have from what the dump does not hold; `version.json` is `kubectl version -o json`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from evenpace.collect.kubernetes.fields import dig, items, text
from evenpace.collect.kubernetes.kinds import KINDS
from evenpace.collect.kubernetes.objects import UNREADABLE, Objects
from evenpace.collect.snapshot import Snapshot, Unread, Why

LARGEST = 1 << 30  # bytes of a file
_SERVED = "api-resources.txt"
_VERSION = "version.json"
_BY_TYPE = {(kind.group, kind.kind): name for name, kind in KINDS.items()}


def read(folder: Path) -> Snapshot | None:
    """Read a folder; None where no file in it is from Kubernetes. Raises OSError."""
    files = sorted(path for path in folder.iterdir() if path.suffix == ".json" and path.is_file())
    kinds: dict[str, list[Any]] = {}
    unread: dict[str, Unread] = {}
    for path in files:
        if path.name != _VERSION:
            _take(path, kinds, unread)
    if not kinds and not unread:
        return None
    served = _served(folder / _SERVED)
    for name in KINDS.keys() - kinds.keys() - unread.keys():
        if served and name not in served:
            unread[name] = Unread(Why.ABSENT, name)
    taken = max((path.stat().st_mtime for path in files), default=0.0)
    return Snapshot(
        "kubernetes",
        str(folder),
        datetime.fromtimestamp(taken, UTC),
        {name: tuple(found) for name, found in kinds.items()},
        unread,
        _version(folder / _VERSION),
    )


def _take(path: Path, kinds: dict[str, list[Any]], unread: dict[str, Unread]) -> None:
    """Sort the objects of a file by kind; kinds that no check reads, Secrets above all, are left out."""
    named = _named(path)
    try:
        listed, objects = _objects(_raw(path))
    except (OSError, *UNREADABLE) as error:
        if named:
            unread[named] = Unread(Why.MALFORMED, path.name, str(error)[:200])
        return
    if named and listed:
        kinds.setdefault(named, [])
    for one in objects:
        group, _, _ = text(one, "apiVersion").rpartition("/")
        name = _BY_TYPE.get((group, text(one, "kind")))
        if name and _wanted(name, one):
            kinds.setdefault(name, []).append(one)


class _List(msgspec.Struct):
    items: list[dict[str, msgspec.Raw]]
    kind: str = ""
    version: str = msgspec.field(name="apiVersion", default="")


_LIST = msgspec.json.Decoder(_List)


def _objects(raw: bytes) -> tuple[bool, list[Any]]:
    """Return (whether it is a list, the objects); those of a `NodeList` get the type that it leaves out."""
    try:
        found = _LIST.decode(raw)
    except msgspec.ValidationError:  # one object, or a list with odd things in it
        document = msgspec.json.decode(raw)
        listed = isinstance(dig(document, "items"), list)
        return listed, list(items(document, "items")) if listed else [document]
    kind = found.kind.removesuffix("List")
    objects = Objects().objects(found.items)
    return True, [{"apiVersion": found.version, "kind": kind, **one} for one in objects] if kind else objects


def _wanted(name: str, one: Any) -> bool:
    only = KINDS[name].only
    return not only or (text(one, "metadata", "namespace"), text(one, "metadata", "name")) in only


def _named(path: Path) -> str | None:
    return next((name for name, kind in KINDS.items() if path.stem in (name, kind.plural)), None)


def _raw(path: Path) -> bytes:
    if not path.is_file():  # a pipe would be waited for
        raise ValueError("not a file")
    with path.open("rb") as file:
        raw = file.read(LARGEST + 1)
    if len(raw) > LARGEST:
        raise ValueError(f"larger than {LARGEST >> 20} MiB")
    return raw


def _served(path: Path) -> frozenset[str]:
    try:
        return frozenset(_raw(path).decode("utf-8", "replace").split())
    except (OSError, ValueError):
        return frozenset()


def _version(path: Path) -> str | None:
    try:
        return text(msgspec.json.decode(_raw(path)), "serverVersion", "gitVersion") or None
    except (OSError, *UNREADABLE):
        return None
