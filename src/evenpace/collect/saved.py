"""Snapshots as files: read one that was saved or written by hand as a fixture, and encode one to be saved.

family: kubernetes
source: context prod
taken: 2026-11-29T12:00:00Z
kinds: {nodes: [...]}
unread: {pods: {why: forbidden, what: list pods}}

A list of these holds what was read of several clusters.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import yaml

from evenpace.collect.kubernetes.objects import Objects
from evenpace.collect.slurm.model import TYPES
from evenpace.collect.snapshot import Snapshot, Unread, Why
from evenpace.errors import Problem

LARGEST = 2 << 30  # bytes of JSON
LARGEST_YAML = 1 << 20
FAMILIES = ("kubernetes", "slurm")
_TOGETHER = 500  # objects that are encoded at once
_MOST = 1_000_000  # values that a document of YAML may unfold to
_UNREADABLE = (
    *(
        yaml.YAMLError,
        msgspec.DecodeError,
        msgspec.ValidationError,
        ValueError,
        OverflowError,
        RecursionError,
    ),
)


class _Loader(yaml.CSafeLoader):
    """Read YAML as Kubernetes does: a time stays the text that it is."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


class _Head(msgspec.Struct, forbid_unknown_fields=True):
    family: str
    taken: datetime
    source: str = ""
    version: str | None = None
    unread: dict[str, dict[str, str]] = {}
    partly: dict[str, dict[str, str]] = {}


class _Saved(_Head):
    kinds: dict[str, msgspec.Raw] = {}


class _Written(_Head):
    kinds: dict[str, Any] = {}


def read(path: Path) -> Snapshot:
    """Read a file of one snapshot; raises Problem."""
    snapshots = read_all(path)
    if len(snapshots) != 1:
        raise Problem(f"{path} is no saved snapshot: it holds {len(snapshots)}")
    return snapshots[0]


def read_all(path: Path) -> tuple[Snapshot, ...]:
    """Read all snapshots of a file; raises Problem."""
    try:
        found = _documents(path)
        if not found:
            raise ValueError("there is none in it")
        for saved in found:
            if saved.taken.tzinfo is None:
                raise ValueError("`taken` has no time zone")
            saved.taken.astimezone(UTC)  # there are times at the ends of the calendar that UTC does not have
            if saved.family not in FAMILIES:
                raise ValueError(f"`family` is none of {', '.join(FAMILIES)}")
        return tuple(_snapshot(saved, path) for saved in found)
    except OSError as error:
        raise Problem(f"cannot read {path}: {error.strerror}") from error
    except _UNREADABLE as error:
        raise Problem(f"{path} is no saved snapshot: {' '.join(str(error).split())[:200]}") from error


def encoded(snapshots: Sequence[Snapshot]) -> Iterator[bytes]:
    """Yield the pieces of a file of JSON that `read_all` gives back as the same snapshots."""
    yield b"["
    for number, snapshot in enumerate(snapshots):
        head = _Head(
            snapshot.family,
            snapshot.taken,
            snapshot.source,
            snapshot.version,
            {kind: _reason(one) for kind, one in snapshot.unread.items()},
            {kind: _reason(one) for kind, one in snapshot.partly.items()},
        )
        yield (b",\n" if number else b"\n") + msgspec.json.encode(head).removesuffix(b"}") + b',\n"kinds":{'
        for place, (kind, value) in enumerate(sorted(snapshot.kinds.items())):
            yield (b",\n" if place else b"\n") + msgspec.json.encode(kind) + b":"
            yield from _value(value)
        yield b"}}"
    yield b"\n]\n"


def _value(value: Any) -> Iterator[bytes]:
    if not isinstance(value, list | tuple):
        yield msgspec.json.encode(value)
        return
    yield b"["
    for start in range(0, len(value), _TOGETHER):
        part = msgspec.json.encode(value[start : start + _TOGETHER])
        yield (b",\n" if start else b"\n") + part.removeprefix(b"[").removesuffix(b"]")
    yield b"]"


def _documents(path: Path) -> Sequence[_Saved | _Written]:
    json = path.suffix == ".json"
    limit = LARGEST if json else LARGEST_YAML
    with path.open("rb") as file:
        raw = file.read(limit + 1)
    if len(raw) > limit:
        raise Problem(f"{path} is larger than {limit >> 20} MiB")
    if json:
        several = raw[:100].lstrip().startswith(b"[")
        if not several:
            _is_no_answer(msgspec.json.decode(raw, type=dict[str, msgspec.Raw]), path)
        kind: Any = list[_Saved] if several else _Saved
        found = msgspec.json.decode(raw, type=kind, strict=False)
        return found if several else [found]
    document = yaml.load(raw, Loader=_Loader)  # noqa: S506  a safe loader without times
    _unfolded(document, {})
    several = isinstance(document, list)
    if isinstance(document, dict):
        _is_no_answer(document, path)
    return msgspec.convert(document if several else [document], list[_Written], strict=False)


def _is_no_answer(fields: Collection[str], path: Path) -> None:
    """Raise Problem where a file is what another command printed, with what to give instead."""
    if {"findings", "checks"} <= set(fields):
        raise Problem(
            f"{path} is what an audit found, not what it read: give the snapshot that"
            f" `evenpace audit --save FILE.json` keeps, or compare with it by `--baseline {path}`"
        )
    if {"apiVersion", "kind", "items"} <= set(fields):
        raise Problem(f"{path} is a list as kubectl prints it: put it in a folder, and give the folder")


def _unfolded(value: object, known: dict[int, int]) -> int:
    """Count values, those behind an alias each time; raises one of _UNREADABLE for too many."""
    if not isinstance(value, dict | list):
        return 1
    if id(value) not in known:
        known[id(value)] = _MOST + 1  # what holds itself has no end
        inner = value.values() if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(_unfolded(one, known) for one in inner)
    if known[id(value)] > _MOST:
        raise ValueError(f"its aliases unfold to more than {_MOST} values")
    return known[id(value)]


def _snapshot(saved: _Saved | _Written, path: Path) -> Snapshot:
    unread = {kind: _unread(kind, reason) for kind, reason in saved.unread.items()}
    kinds: dict[str, Any] = {}
    for kind, value in saved.kinds.items():
        try:
            kinds[kind] = _typed(saved.family, kind, value)
        except (msgspec.DecodeError, msgspec.ValidationError, ValueError, RecursionError) as error:
            unread[kind] = Unread(Why.MALFORMED, kind, str(error)[:200])
    partly = {kind: _unread(kind, reason) for kind, reason in saved.partly.items()}
    return Snapshot(
        saved.family, saved.source or str(path), saved.taken, kinds, unread, saved.version, partly
    )


def _reason(one: Unread) -> dict[str, str]:
    return {"why": str(one.why), "what": one.what, "detail": one.detail}


def _unread(kind: str, reason: Mapping[str, str]) -> Unread:
    return Unread(Why(reason.get("why", "")), reason.get("what", kind), reason.get("detail", ""))


def _typed(family: str, kind: str, value: Any) -> Any:
    if family == "slurm" and kind in TYPES:
        if isinstance(value, msgspec.Raw):
            return msgspec.json.decode(value, type=TYPES[kind], strict=False)
        return msgspec.convert(value, TYPES[kind], strict=False)
    if isinstance(value, msgspec.Raw):
        return tuple(Objects().listed(value))
    return msgspec.convert(value, tuple[dict[str, Any], ...])
