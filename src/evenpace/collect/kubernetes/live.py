"""Read the kinds that are asked for from a live cluster; what cannot be read is a reason, never a crash."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from functools import partial

import msgspec

from evenpace.collect.kubernetes.config import Access
from evenpace.collect.kubernetes.discovery import Place, places
from evenpace.collect.kubernetes.fields import text
from evenpace.collect.kubernetes.kinds import ANYWHERE, KINDS, OF_USERS
from evenpace.collect.kubernetes.objects import UNREADABLE, Item, Objects
from evenpace.collect.kubernetes.side_by_side import Crew
from evenpace.collect.kubernetes.transport import GONE, Limits, Refusal, Transport
from evenpace.collect.snapshot import Snapshot, Unread, Why
from evenpace.errors import Problem

PAGE = 500  # objects of a page
MOST = 500_000  # objects of a kind
_WORKERS = 4


def read(
    access: Access,
    names: Collection[str],
    namespace: str | None = None,
    limits: Limits | None = None,
) -> Snapshot:
    """Read the kinds named; of what users make only those in `namespace` where one is given.

    Raises Problem where the server is not reached or there is no such namespace.
    """
    transport = Transport(access, limits or Limits())
    try:
        return _read(transport, access, names, namespace)
    finally:
        transport.close()


def _read(transport: Transport, access: Access, names: Collection[str], namespace: str | None) -> Snapshot:
    crew = Crew(_WORKERS, transport.limits.whole)
    version = _version(transport, crew)
    if namespace is not None:
        _exists(transport, crew, namespace)
    where = places(transport, crew, sorted(set(names) & KINDS.keys()))
    unread = {name: place for name, place in where.items() if isinstance(place, Unread)}
    found = [place for place in where.values() if isinstance(place, Place)]
    found.sort(key=lambda place: place.kind.name not in {"pods", "events", "nodes"})
    lists = crew.results({p.kind.name: partial(_list, transport, p, namespace) for p in found})
    kinds: dict[str, tuple[Item, ...]] = {}
    for place in found:
        name = place.kind.name
        objects = lists.get(name, crew.late(f"list {name}"))
        if isinstance(objects, Unread):
            unread[name] = objects
        else:
            kinds[name] = objects
    source = f"context {access.name}, {transport.server}"
    partly = Unread(Why.MISSING, "other namespaces", f"only {namespace} was read")
    return Snapshot(
        "kubernetes",
        source if namespace is None else f"{source}, namespace {namespace}",
        transport.told or datetime.now(UTC),
        kinds,
        unread,
        version,
        dict.fromkeys(ANYWHERE & kinds.keys(), partly) if namespace is not None else {},
    )


def _version(transport: Transport, crew: Crew) -> str | None:
    """Return the server's version; raises Problem where no server answers at all."""
    answer = crew.results({"": lambda: _got(transport, "/version")}).get("", crew.late("get /version"))
    if isinstance(answer, Refusal) and not answer.status:
        raise Problem(f"cannot read {transport.server}: {answer.detail}; audit a dump by --from")
    if isinstance(answer, Unread):
        raise Problem(f"cannot read {transport.server}: {answer.detail}")
    if isinstance(answer, Refusal):
        return None
    try:
        return text(msgspec.json.decode(answer), "gitVersion") or None
    except UNREADABLE:
        return None


def _exists(transport: Transport, crew: Crew, namespace: str) -> None:
    """Raise Problem where there is no such namespace; a list of it would be empty, and nothing amiss."""
    answer = crew.results({"": lambda: _got(transport, f"/api/v1/namespaces/{namespace}")}).get("")
    if isinstance(answer, Refusal) and answer.why is Why.ABSENT:
        raise Problem(f"there is no namespace {namespace!r} in {transport.server}")


def _got(transport: Transport, path: str) -> bytes | Refusal:
    try:
        return transport.get(path)
    except Refusal as refusal:
        return refusal


def _list(transport: Transport, place: Place, namespace: str | None) -> tuple[Item, ...] | Unread:
    """Return the objects of a kind, or why they cannot be read."""
    name = place.kind.name
    try:
        if place.kind.only:
            return tuple(_named(transport, place))
        within = namespace if name in OF_USERS else None
        try:
            return tuple(_pages(transport, place.path(within), Objects(place.version, place.kind.kind)))
        except Refusal as refusal:
            if refusal.status != GONE:
                raise
        return tuple(_pages(transport, place.path(within), Objects(place.version, place.kind.kind)))
    except Refusal as refusal:
        verb = "get" if place.kind.only else "list"
        return Unread(refusal.why, f"{verb} {name}", refusal.detail)
    except UNREADABLE as error:
        return Unread(Why.MALFORMED, f"list {name}", str(error)[:200])


def _pages(transport: Transport, path: str, objects: Objects) -> Iterator[Item]:
    """Yield the objects of all pages; raises Refusal, or one of UNREADABLE."""
    token, tokens, count = "", set[str](), 0
    while True:
        asked: dict[str, str | int] = {"limit": PAGE, **({"continue": token} if token else {})}
        found, token = objects.page(transport.get(path, asked))
        yield from found
        count += len(found)
        if not token:
            return
        if token in tokens:
            raise ValueError("a list that begins again and again")
        if count > MOST:
            raise Refusal(Why.TOO_LARGE, f"more than {MOST} objects")
        tokens.add(token)


def _named(transport: Transport, place: Place) -> Iterator[Item]:
    """Yield the objects of `only` that there are; raises Refusal, or one of UNREADABLE."""
    for namespace, name in place.kind.only:
        try:
            raw = transport.get(place.path(namespace, name))
        except Refusal as refusal:
            if refusal.why is not Why.ABSENT:
                raise
        else:
            yield Objects(place.version, place.kind.kind).one(raw)
