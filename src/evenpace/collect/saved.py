"""Read a snapshot that was saved, or written by hand as a fixture: one file of JSON or YAML.

family: kubernetes
source: context prod
taken: 2026-11-29T12:00:00Z
kinds: {nodes: [...]}
unread: {pods: {why: forbidden, what: list pods}}
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import yaml

from evenpace.collect.slurm.model import TYPES
from evenpace.collect.snapshot import Snapshot, Unread, Why
from evenpace.errors import Problem

LARGEST = 1 << 30  # bytes of JSON
LARGEST_YAML = 1 << 20
_UNREADABLE = (yaml.YAMLError, msgspec.DecodeError, msgspec.ValidationError, ValueError, RecursionError)


class _Loader(yaml.CSafeLoader):
    """Read YAML as Kubernetes does: a time stays the text that it is."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


class _Saved(msgspec.Struct, forbid_unknown_fields=True):
    family: str
    taken: datetime
    source: str = ""
    version: str | None = None
    kinds: dict[str, Any] = {}
    unread: dict[str, dict[str, str]] = {}


def read(path: Path) -> Snapshot:
    """Read one file; raises Problem."""
    try:
        saved = msgspec.convert(_plain(path), _Saved, strict=False)
        unread = {kind: _unread(kind, reason) for kind, reason in saved.unread.items()}
    except OSError as error:
        raise Problem(f"cannot read {path}: {error.strerror}") from error
    except _UNREADABLE as error:
        raise Problem(f"{path} is no saved snapshot: {' '.join(str(error).split())[:200]}") from error
    if saved.taken.tzinfo is None:
        raise Problem(f"{path} is no saved snapshot: `taken` has no time zone")
    kinds: dict[str, Any] = {}
    for kind, value in saved.kinds.items():
        try:
            kinds[kind] = _typed(saved.family, kind, value)
        except (msgspec.ValidationError, RecursionError) as error:
            unread[kind] = Unread(Why.MALFORMED, kind, str(error)[:200])
    return Snapshot(saved.family, saved.source or str(path), saved.taken, kinds, unread, saved.version)


def _plain(path: Path) -> Any:
    limit = LARGEST if path.suffix == ".json" else LARGEST_YAML
    with path.open("rb") as file:
        raw = file.read(limit + 1)
    if len(raw) > limit:
        raise Problem(f"{path} is larger than {limit >> 20} MiB")
    if path.suffix == ".json":
        return msgspec.json.decode(raw)
    return yaml.load(raw, Loader=_Loader)  # noqa: S506  a safe loader without times


def _unread(kind: str, reason: dict[str, str]) -> Unread:
    return Unread(Why(reason.get("why", "")), reason.get("what", kind), reason.get("detail", ""))


def _typed(family: str, kind: str, value: Any) -> Any:
    if family == "slurm" and kind in TYPES:
        return msgspec.convert(value, TYPES[kind], strict=False)
    return msgspec.convert(value, tuple[dict[str, Any], ...])
