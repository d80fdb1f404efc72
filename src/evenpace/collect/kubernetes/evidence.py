"""Name an object in a finding, and quote a field of it as it was read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from evenpace.collect.kubernetes.fields import Object, dig, name, namespace, text
from evenpace.findings import Evidence, Subject

_LONGEST = 400  # characters of a quotation
_FEW = 5  # names in a sentence
_LOOKED = 1000  # objects whose names are sorted to be quoted


def subject(one: Object) -> Subject:
    """Return whom a finding is about: a node by its name, any other object as `Kind/namespace/name`."""
    if text(one, "kind") == "Node":
        return Subject(kind="node", node=name(one))
    return Subject(kind="object", object=where(one))


def several(nodes: Iterable[Object]) -> Subject:
    """Return whom a finding about some nodes is about, in the order of their names."""
    names = sorted(map(name, nodes))
    return Subject(kind="node", node=names[0] if len(names) == 1 else names)


def few(names: Sequence[str]) -> str:
    """Return names for a sentence, a few of many: `gpu-1, gpu-2, gpu-3, … (17)`."""
    ordered = sorted(names)
    return ", ".join(ordered if len(ordered) <= _FEW else [*ordered[: _FEW - 1], f"… ({len(ordered)})"])


def listed(kind: str, objects: Sequence[Object]) -> Evidence:
    """Say which objects were looked through, where the finding is that none of them is the one wanted."""
    return Evidence(source=f"list {kind}", text=quoted(sorted(where(one) for one in objects[:_LOOKED])))


def where(one: Object) -> str:
    """Return `Node/gpu-017` or `JobSet/ml/train`."""
    parts = (text(one, "kind", default="?"), namespace(one), name(one))
    return "/".join(part for part in parts if part)


def evidence(one: Object, *path: str | int) -> Evidence:
    """Quote the field at `path`, `null` where it is not set: `JobSet/ml/train .spec.failurePolicy`."""
    dotted = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return Evidence(source=f"{where(one)} {dotted}".rstrip(), text=quoted(dig(one, *path)))


def quoted(value: object) -> str:
    """Return a value as JSON, cut where it is too long to read."""
    try:
        written = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        written = "?"
    return written if len(written) <= _LONGEST else f"{written[:_LONGEST]}…"
