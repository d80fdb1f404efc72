"""Read single values of Slurm's text and JSON, of any version and any shape: nothing here raises.

Numbers of JSON are plain up to 22.05, and `{"set": true, "infinite": false, "number": 5}` since 23.02.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from evenpace.collect.kubernetes.fields import dig, number
from evenpace.collect.slurm.cluster import seconds
from evenpace.collect.slurm.model import LARGEST

LONGEST = 100_000  # characters of a text, items of a list: the rest is left out
LONGEST_TERM = 2_000  # characters of a list of resources
_KEPT = 4096  # of each kind of value: most of them come again and again
_UNSET = frozenset(("", "(null)", "n/a", "none", "unknown", "none assigned", "null"))
_MARKS = {
    "*": "NOT_RESPONDING",
    "~": "POWERED_DOWN",
    "#": "POWERING_UP",
    "!": "POWER_DOWN",
    "%": "POWERING_DOWN",
}
_MARKS |= {"$": "MAINTENANCE", "@": "REBOOT_REQUESTED", "^": "REBOOT_ISSUED", "-": "PLANNED"}
_STATE = re.compile(r"([A-Z_]*)([*~#!%$@^-]*)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NO_VALUE = frozenset((0xFFFFFFFE, 0xFFFFFFFF, 0xFFFE, 0xFFFF, 0xFFFFFFFFFFFFFFFE, 0xFFFFFFFFFFFFFFFF))


def plain(value: object, *path: str | int) -> str:
    """Return a text, empty where it is unset: `(null)`, `N/A`, `Unknown`."""
    found = dig(value, *path)
    if isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    written = found[:LONGEST].strip() if isinstance(found, str) else ""
    return "" if written.casefold() in _UNSET else written


def words(value: object, *path: str | int) -> tuple[str, ...]:
    """Return the members of a list, or of a text with commas."""
    found = dig(value, *path)
    if isinstance(found, list | tuple):
        return tuple(item.strip() for item in found[:LONGEST] if isinstance(item, str) and item.strip())
    return tuple(word.strip() for word in plain(found).split(",") if word.strip())


def integer(value: object, *path: str | int) -> int | None:
    """Return a number in any of its forms; None where it is unset, without end or absurd."""
    found = dig(value, *path)
    if isinstance(found, Mapping):
        limited = found.get("set") is True and found.get("infinite") is not True
        return integer(found, "number") if limited else None
    if isinstance(found, str):
        return _written(found[:40])
    real = number(found)
    return None if real is None or abs(real) > LARGEST or int(real) in _NO_VALUE else int(real)


@lru_cache(_KEPT)
def _written(text: str) -> int | None:
    digits = text.strip()[:20]
    found = int(digits) if digits.isascii() and digits.isdigit() else None
    return None if found is None or found > LARGEST or found in _NO_VALUE else found


def instant(value: object, *path: str | int) -> datetime | None:
    """Return a time: seconds since 1970, or a text without zone that is taken for UTC."""
    found = dig(value, *path)
    if isinstance(found, str) and not found.isdigit():
        try:
            written = datetime.fromisoformat(found.strip()[:40])
            return written.astimezone(UTC) if written.tzinfo else written.replace(tzinfo=UTC)
        except (ValueError, OverflowError):
            return None
    since = integer(found)
    try:
        return _EPOCH + timedelta(seconds=since) if since and since > 0 else None
    except OverflowError:
        return None


def span(value: object, *path: str | int) -> float | None:
    """Return `1-00:00:00` of a text in seconds; None for no limit."""
    found = seconds(plain(value, *path))
    return None if found is None or found == float("inf") else found


def minutes(value: object, *path: str | int) -> float | None:
    """Return a number of minutes in seconds; None for no limit."""
    found = integer(value, *path)
    return None if found is None else found * 60.0


def states(*values: object) -> tuple[str, ...]:
    """Return states as capitals, each once: of `IDLE+DRAIN`, `idle*`, or of lists."""
    found: dict[str, None] = {}
    for value in values:
        for word in words([value] if isinstance(value, str) else value):
            found |= dict.fromkeys(_states(word[:400]))
    return tuple(found)


@lru_cache(_KEPT)
def _states(word: str) -> tuple[str, ...]:
    """Return the states of `IDLE*+DRAIN`; of `CANCELLED by 1000` the first word."""
    found: list[str] = []
    for part in word.upper().split("+"):
        match = _STATE.fullmatch((part.split() or [""])[0])
        name, marks = match.groups() if match else ("", "")
        found += [one for one in (name, *(_MARKS[mark] for mark in marks)) if one]
    return tuple(found)


def gpus(gres: str) -> int:
    """Return how many GPUs `gpu:h200:8(S:0-1),shard:16` has."""
    return _gpus(gres[:LONGEST_TERM])


@lru_cache(_KEPT)
def _gpus(gres: str) -> int:
    found = 0
    for entry in re.sub(r"\([^()]*\)", "", gres).split(","):
        kind, *rest = entry.strip().removeprefix("gres:").removeprefix("gres/").replace("=", ":").split(":")
        if kind == "gpu":
            found += _count(rest[-1]) if rest else 1
    return found


def _count(written: str) -> int:
    scale = {"K": 1024, "M": 1024**2}.get(written[-1:].upper(), 1)
    digits = written[:-1] if scale > 1 else written
    if digits.isascii() and digits.isdigit() and len(digits) < 10:
        return int(digits) * scale
    return 1  # `gpu:h200`: a type alone is one


def tres_gpus(tres: str) -> int | None:
    """Return the GPUs of `cpu=2,gres/gpu=16,gres/gpu:h200=16`; None where it counts none."""
    return _tres_gpus(tres[:LONGEST_TERM])


@lru_cache(_KEPT)
def _tres_gpus(tres: str) -> int | None:
    counted: dict[str, int] = {}
    for entry in tres.split(","):
        key, _, count = entry.strip().partition("=")
        if key.startswith("gres/gpu") and count:
            counted[key] = _count(count)
    return counted.get("gres/gpu", sum(counted.values())) if counted else None


def users(value: Any) -> str:
    """Return the name of `root(0)`."""
    return plain(value).partition("(")[0]
