"""An earlier audit to compare with: what it found is known, and only what is new counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from evenpace.errors import Problem

LARGEST = 1 << 28  # bytes
_SCHEMA = 1


class _Found(msgspec.Struct, frozen=True):
    check: str
    fingerprint: str
    suppressed: dict[str, Any] | None = None


class _Checked(msgspec.Struct, frozen=True):
    id: str
    failing: int = 0
    findings: tuple[int, ...] = ()


class _Page(msgspec.Struct, frozen=True):
    schema: int
    findings: tuple[_Found, ...]
    checks: tuple[_Checked, ...]


@dataclass(frozen=True, slots=True)
class Baseline:
    """Hold what an audit found: fingerprint → check; what was suppressed in it is not known.

    `unlisted` counts the gaps of a check that were too many to be listed.
    """

    found: Mapping[str, str] = field(default_factory=dict)
    unlisted: Mapping[str, int] = field(default_factory=dict)


def read(path: Path) -> Baseline:
    """Read the JSON of an earlier audit; raises Problem."""
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
    except OSError as error:
        raise Problem(f"cannot read {path}: {error.strerror}") from error
    if len(raw) > LARGEST:
        raise Problem(f"{path} is larger than {LARGEST >> 20} MiB")
    try:
        page = msgspec.json.decode(raw, type=_Page)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        wanted = "`evenpace audit --format json --output FILE` writes one"
        raise Problem(f"{path} is no audit: {str(error)[:160]}; {wanted}") from error
    if page.schema != _SCHEMA:
        raise Problem(f"{path} has schema {page.schema}; this evenpace reads {_SCHEMA}")
    return Baseline(
        {one.fingerprint: one.check for one in page.findings if not one.suppressed},
        {one.id: more for one in page.checks if (more := one.failing - len(one.findings)) > 0},
    )
