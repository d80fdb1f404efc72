"""The three kinds of patch: JSON patch (RFC 6902), merge patch (RFC 7386), strategic merge patch.

All return a new object and leave the old one as it was.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from evenpace.demo.cluster.refused import Refused

# Lists of built-in kinds that are merged by a key; another list is replaced.
_KEYS = {
    "addresses": "type",
    "conditions": "type",
    "containers": "name",
    "env": "name",
    "ephemeralContainers": "name",
    "hostAliases": "ip",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "ownerReferences": "uid",
    "podIPs": "ip",
    "resourceClaims": "name",
    "topologySpreadConstraints": "topologyKey",
    "volumeDevices": "devicePath",
    "volumeMounts": "mountPath",
    "volumes": "name",
    "webhooks": "name",
}
_SETS = ("finalizers",)  # lists of texts that are joined


def apply(kind: str, one: dict[str, Any], patch: Any, builtin: bool) -> dict[str, Any]:
    """Return `one` patched; `kind` is the request's content type. Raises Refused."""
    if kind == "application/json-patch+json":
        patched = json_patch(one, patch)
    elif kind == "application/merge-patch+json":
        patched = merge_patch(one, patch)
    elif kind == "application/strategic-merge-patch+json" and builtin:
        patched = strategic_patch(one, patch)
    else:
        raise Refused(415, f"the patch type {kind[:100]!r} is not supported for this resource")
    if not isinstance(patched, dict):
        raise Refused(422, "the patch leaves no object")
    return patched


def merge_patch(one: Any, patch: Any) -> Any:
    """Merge objects; null removes, anything else replaces."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    merged = dict(one) if isinstance(one, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def strategic_patch(one: Any, patch: Any) -> Any:
    """Merge as `merge_patch`, but lists by their keys; follow `$patch: delete` and `$patch: replace`."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    if patch.get("$patch") == "replace":
        return {key: copy.deepcopy(value) for key, value in patch.items() if key != "$patch"}
    merged = dict(one) if isinstance(one, dict) else {}
    for key, value in patch.items():
        if key.startswith("$deleteFromPrimitiveList/"):
            field = key.partition("/")[2]
            merged[field] = [item for item in merged.get(field) or () if item not in value]
        elif key.startswith("$"):
            continue
        elif value is None:
            merged.pop(key, None)
        elif isinstance(value, list):
            merged[key] = _list(key, merged.get(key), value)
        else:
            merged[key] = strategic_patch(merged.get(key), value)
    return merged


def _list(field: str, old: Any, new: list[Any]) -> list[Any]:
    if field in _SETS and isinstance(old, list):
        return [*old, *(item for item in new if item not in old)]
    key = _merge_key(field, new)
    directives = [item for item in new if isinstance(item, dict) and "$patch" in item]
    if key is None or any(item["$patch"] == "replace" for item in directives):
        return [copy.deepcopy(item) for item in new if item not in directives]
    merged = {_keyed(item, key): item for item in old or () if isinstance(item, dict)}
    for item in new:
        if item in directives:
            merged.pop(_keyed(item, key), None)
        else:
            merged[_keyed(item, key)] = strategic_patch(merged.get(_keyed(item, key)), item)
    return list(merged.values())


def _merge_key(field: str, new: list[Any]) -> str | None:
    if field == "ports":  # of a container, or of a Service
        return "containerPort" if any("containerPort" in item for item in new) else "port"
    return _KEYS.get(field)


def _keyed(item: Any, key: str) -> Any:
    if not isinstance(item, dict) or key not in item:
        raise Refused(422, f"map: an item of the list does not contain its merge key {key}")
    return item[key]


def json_patch(one: Any, operations: Any) -> Any:
    """Apply operations in their order; raises Refused for one that does not fit."""
    if not isinstance(operations, list):
        raise Refused(400, "a JSON patch is a list of operations")
    document: Any = {"": copy.deepcopy(one)}
    for operation in operations:
        try:
            _OPERATIONS[operation["op"]](document, operation)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise Refused(422, f"the server rejected our request: {error}") from error
    return document[""]


def _add(document: Any, operation: dict[str, Any]) -> None:
    _insert(document, operation["path"], copy.deepcopy(operation["value"]))


def _insert(document: Any, path: str, value: Any) -> None:
    holder, step = _place(document, path)
    if isinstance(holder, list):
        at = len(holder) if step == "-" else int(step)
        if not 0 <= at <= len(holder):
            raise IndexError(f"no place {step} in the list")
        holder.insert(at, value)
    else:
        holder[step] = value


def _remove(document: Any, operation: dict[str, Any]) -> Any:
    holder, step = _place(document, operation["path"])
    return holder.pop(_at(holder, step))


def _replace(document: Any, operation: dict[str, Any]) -> None:
    holder, step = _place(document, operation["path"])
    holder[_at(holder, step)] = copy.deepcopy(operation["value"])


def _test(document: Any, operation: dict[str, Any]) -> None:
    if _found(document, operation["path"]) != operation["value"]:
        raise ValueError(f"testing value {operation['path'][:100]} failed")


def _move(document: Any, operation: dict[str, Any]) -> None:
    _insert(document, operation["path"], _remove(document, {"path": operation["from"]}))


def _copy(document: Any, operation: dict[str, Any]) -> None:
    _insert(document, operation["path"], copy.deepcopy(_found(document, operation["from"])))


_OPERATIONS: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "test": _test,
    "move": _move,
    "copy": _copy,
}


def _found(document: Any, path: str) -> Any:
    holder, step = _place(document, path)
    return holder[_at(holder, step)]


def _place(document: Any, path: str) -> tuple[Any, str]:
    """Return what holds the last step of `path`, and that step."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")]
    holder = document
    for step in steps[:-1]:
        holder = holder[_at(holder, step)]
    if not isinstance(holder, dict | list):
        raise TypeError(f"{path[:100]} leads into a value")
    return holder, steps[-1]


def _at(holder: Any, step: str) -> Any:
    """Return the key or index of something that is there."""
    at: Any = int(step) if isinstance(holder, list) else step
    if isinstance(holder, list) and not 0 <= at < len(holder):
        raise IndexError(f"no item {step} in the list")
    if isinstance(holder, dict) and at not in holder:
        raise KeyError(step)
    return at
