"""Read the kinds that are asked for from a live cluster; what cannot be read is a reason, never a crash."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial

import msgspec

from evenpace.collect.kubernetes import plugin
from evenpace.collect.kubernetes.config import Access
from evenpace.collect.kubernetes.discovery import Place, places
from evenpace.collect.kubernetes.fields import text
from evenpace.collect.kubernetes.kinds import ANYWHERE, KINDS, OF_USERS
from evenpace.collect.kubernetes.objects import UNREADABLE, Item, Objects
from evenpace.collect.kubernetes.side_by_side import Crew
from evenpace.collect.kubernetes.transport import GONE, UNKNOWN, Limits, Refusal, Transport
from evenpace.collect.snapshot import Snapshot, Unread, Why
from evenpace.errors import Problem

PAGE = 500  # objects of a page
MOST = 500_000  # objects of a kind
_WORKERS = 4
_APART = timedelta(days=1)  # the most that the server's clock and ours may differ to be believed
_NAMESPACE = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
_LONG = ("pods", "events", "nodes")
_NO_GROUPS = {(Why.ABSENT, "get /apis")}  # which every server of Kubernetes has


def read(
    access: Access,
    names: Collection[str],
    namespace: str | None = None,
    limits: Limits | None = None,
) -> Snapshot:
    """Read the kinds named; of what users make only those in `namespace` where one is given.

    Raises Problem where a plug-in gives no credentials, the server is not reached, or there is no such
    namespace.
    """
    if namespace is not None and not _NAMESPACE.fullmatch(namespace):  # it becomes a part of paths
        raise Problem(f"{namespace[:80]!r} cannot be the name of a namespace")
    limits = limits or Limits()
    transport = Transport(plugin.signed_in(access, limits.whole), limits)
    try:
        return _read(transport, access, names, namespace)
    finally:
        transport.close()


def _read(transport: Transport, access: Access, names: Collection[str], namespace: str | None) -> Snapshot:
    crew = Crew(_WORKERS, transport.limits.whole)
    version = _version(transport, crew)
    if namespace is not None:
        _exists(transport, crew, namespace)
    kinds: dict[str, tuple[Item, ...]] = {}
    unread: dict[str, Unread] = {}
    for name, result in _results(transport, crew, names, namespace).items():
        if isinstance(result, Unread):
            unread[name] = result
        else:
            kinds[name] = result
    taken, doubt = _moment(transport.told, datetime.now(UTC))
    within = [] if namespace is None else [f"namespace {namespace}"]
    return Snapshot(
        "kubernetes",
        ", ".join([f"context {access.name}", transport.server, *within, *doubt]),
        taken,
        kinds,
        unread,
        version,
        {} if namespace is None else _partly(kinds),
    )


def _moment(told: datetime | None, here: datetime) -> tuple[datetime, list[str]]:
    """Return what is now, and what there is to say about it: a server's clock may be wrong, or made up."""
    if told is None:
        return here, []
    if abs(told - here) > _APART:
        return here, [f"whose clock says {told:%Y-%m-%d %H:%M} UTC: ages are by the clock of this machine"]
    return told, []


def _results(
    transport: Transport, crew: Crew, names: Collection[str], namespace: str | None
) -> dict[str, tuple[Item, ...] | Unread]:
    """Return the objects of each kind, or why they cannot be read; the long lists are begun first."""
    where = places(transport, crew, sorted(set(names) & KINDS.keys()))
    _known_to_us(transport, where)
    found = {name: place for name, place in where.items() if isinstance(place, Place)}
    order = sorted(found, key=lambda name: name not in _LONG)
    lists = crew.results({name: partial(_list, transport, found[name], namespace) for name in order})
    unread = {name: place for name, place in where.items() if isinstance(place, Unread)}
    return {**unread, **{name: lists.get(name, crew.late(f"list {name}")) for name in found}}


def _partly(kinds: Collection[str]) -> dict[str, Unread]:
    return {name: Unread(Why.MISSING, f"{name} of other namespaces") for name in kinds if name in ANYWHERE}


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


def _known_to_us(transport: Transport, where: Mapping[str, Place | Unread]) -> None:
    """Raise Problem where the server does not know who asks, or is another's: nothing is to be read then."""
    unread = [one for one in where.values() if isinstance(one, Unread)]
    if where and len(unread) == len(where) and all(one.detail.startswith(UNKNOWN) for one in unread):
        raise Problem(
            f"{transport.server} does not accept the credentials ({unread[0].detail}); log in again"
        )
    if unread and len(unread) == len(where) and {(one.why, one.what) for one in unread} == _NO_GROUPS:
        raise Problem(
            f"{transport.server} serves no API of Kubernetes ({unread[0].detail});"
            " see `server` in the kubeconfig"
        )


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
