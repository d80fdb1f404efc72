"""Reading fields of objects that may have any shape: nothing here ever raises, whatever a field holds.

A path is names of fields and numbers of list items: `text(pod, "spec", "containers", 0, "image")`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

Object = Mapping[str, Any]
_MAPPING = (dict, Mapping)  # dict first: nearly all are, and the question to Mapping is slow
LONGEST = 100_000  # characters of a text, items of a list: the rest is left out
_QUANTITY = re.compile(r"([+-]?[0-9]{1,24}(?:\.[0-9]{0,24})?)(?:[eE]([+-]?[0-9]{1,3})|([numkMGTPE]i?|Ki)?)")
_UNITS = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_BINARY = {f"{unit}i": 1024.0**power for power, unit in enumerate("KMGTPE", 1)}


def dig(value: object, *path: str | int) -> Any:
    """Return what stands at `path`; None where there is nothing, or something else on the way."""
    for step in path:
        if isinstance(step, str):
            value = value.get(step) if isinstance(value, _MAPPING) else None
        else:
            fits = isinstance(value, list | tuple) and -len(value) <= step < len(value)
            value = value[step] if fits else None  # type: ignore[index]
    return value


def text(value: object, *path: str | int, default: str = "") -> str:
    """Return the text at `path`, cut at LONGEST; `default` where there is none."""
    found = dig(value, *path)
    return found[:LONGEST] if isinstance(found, str) else default


def number(value: object, *path: str | int) -> float | None:
    """Return the number at `path`; None where there is none, or none that is finite."""
    found = dig(value, *path)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    try:
        return float(found) if math.isfinite(found) else None
    except OverflowError:
        return None


def flag(value: object, *path: str | int) -> bool | None:
    """Return the truth value at `path`; None where there is none."""
    found = dig(value, *path)
    return found if isinstance(found, bool) else None


def table(value: object, *path: str | int) -> Object:
    """Return the mapping at `path`; an empty one where there is none."""
    found = dig(value, *path)
    return found if isinstance(found, _MAPPING) else {}


def strings(value: object, *path: str | int) -> tuple[str, ...]:
    """Return the texts of the list at `path`; other items are left out."""
    return tuple(item for item in _listed(dig(value, *path)) if isinstance(item, str))


def items(value: object, *path: str | int) -> tuple[Object, ...]:
    """Return the mappings of the list at `path`; other items are left out."""
    return tuple(item for item in _listed(dig(value, *path)) if isinstance(item, _MAPPING))


def _listed(value: object) -> Sequence[Any]:
    return value[:LONGEST] if isinstance(value, list | tuple) else ()


def quantity(value: object, *path: str | int) -> float | None:
    """Return a quantity such as `8`, `100m`, `2Ti` in its base unit (cores, bytes); None for others."""
    found = dig(value, *path)
    if not isinstance(found, str):
        return number(found)
    match = _QUANTITY.fullmatch(found[:64].strip())
    if match is None:
        return None
    mantissa, exponent, unit = match.groups()
    scale = 10.0 ** int(exponent) if exponent and abs(int(exponent)) < 100 else 1.0
    return float(mantissa) * scale * (_UNITS | _BINARY).get(unit or "", 1.0)


def instant(value: object, *path: str | int) -> datetime | None:
    """Return the time at `path` (RFC 3339) in UTC; None where there is none."""
    try:
        found = datetime.fromisoformat(text(value, *path)[:40])
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def name(value: object) -> str:
    """Return an object's name."""
    return text(value, "metadata", "name", default="?")


def namespace(value: object) -> str:
    """Return an object's namespace, empty where it has none."""
    return text(value, "metadata", "namespace")


def labels(value: object) -> Mapping[str, str]:
    """Return an object's labels that are texts."""
    found = table(value, "metadata", "labels")
    return {key: label for key, label in found.items() if isinstance(key, str) and isinstance(label, str)}


def condition(value: object, kind: str) -> Object:
    """Return the condition of type `kind` of an object's status; an empty mapping where it has none."""
    found = (one for one in items(value, "status", "conditions") if dig(one, "type") == kind)
    return next(found, {})


def owner(value: object) -> Object:
    """Return the reference to the controller that owns an object; an empty mapping where there is none."""
    found = (one for one in items(value, "metadata", "ownerReferences") if flag(one, "controller"))
    return next(found, {})
