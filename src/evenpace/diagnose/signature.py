"""Signatures: what a line of a log means, as data. One TOML file each, discovered by its path.

`signatures/<fault>/<id>.toml`: the folder is the fault that the signature speaks for, or `consequence` (it
only follows from something else), `marker` (says where the run stood) or `noise` (harmless; never shown).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from evenpace.errors import Problem
from evenpace.terms.bilingual import Text

HERE = Path(__file__).parent / "signatures"
# Faults of a part or a process: whoever waits for it in a collective only shows them.
BREAKING = frozenset(
    (
        *(
            "gpu-hardware",
            "gpu-driver",
            "nvlink",
            "network-fabric",
            "network-config",
            "cuda-kernel-error",
            "storage",
        ),
        *("oom-gpu", "oom-host", "shm", "worker-killed", "node-lost", "user-code-exception", "data-loader"),
    )
)
WAITING = "waiting"
ROLES = ("consequence", "marker", "noise")
UNEXPLAINED = "unexplained-failure"


class Pattern(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold a pattern in RE2's syntax, searched for in a line; `format` restricts it to lines of one."""

    pattern: str
    format: str | None = None


class Also(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold a further line that must be there, or with `absent` must not, for the signature to be seen.

    `same` names captures that must be equal to the first pattern's. `where` says on which side of it, in the
    same file, or `anywhere` in all files; `within` is a largest distance in lines. `holds` compares two
    captured numbers: [left, "<" or ">", factor, right] for left < factor * right. `every` takes all such
    lines, not only the nearest: what they capture as `gpu` is there as the list `gpus`. `optional` only adds
    what the line captures, where it is there. `quiet` keeps the line out of the evidence.
    """

    pattern: str
    absent: bool = False
    same: tuple[str, ...] = ()
    where: Literal["anywhere", "before", "after", "near"] = "anywhere"
    within: int | None = None
    holds: tuple[str, Literal["<", ">"], float, str] | None = None
    every: bool = False
    optional: bool = False
    quiet: bool = False


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold one piece of advice, with the exact command where there is one."""

    en: str
    ko: str
    command: str | None = None


class Example(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold a log in which the signature is seen, and what it then names; or a near miss, where it is not."""

    text: str
    culprit: dict[str, int | str | list[int | str]] = {}


class Terms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold the terms that link the signature to incidents, by facet."""

    symptom: tuple[str, ...] = ()
    component: tuple[str, ...] = ()
    cause: tuple[str, ...] = ()
    factor: tuple[str, ...] = ()


class _Content(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    title: Text
    explanation: Text | None = None
    match: tuple[Pattern, ...] = ()
    also: tuple[Also, ...] = ()
    judge: str | None = None
    role: Literal["cause", "hint"] = "cause"
    fault: str | None = None
    severity: Literal["critical", "warning", "info"] = "critical"
    certainty: float = 0.9
    names: Literal["captures", "printer", "host", "nobody"] = "captures"
    spreads: bool = False
    explains: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    advice: tuple[Step, ...] = ()
    missing: tuple[Text, ...] = ()
    terms: Terms = Terms()
    sources: tuple[str, ...] = ()
    example: tuple[Example, ...] = ()
    near_miss: tuple[Example, ...] = ()


class Signature(msgspec.Struct, frozen=True):
    """Hold one signature: its id (the file's name), fault, role (`cause`, `hint`, or its folder) and content.

    A `hint` is told where nothing better is known. `explains` lists ids, tags or faults of signatures that
    are consequences of this one; a cause explains every `consequence` without being told, and a broken part
    or process whatever is tagged `waiting`. `spreads` says that
    later sightings on other parts follow from the first.
    """

    id: str
    fault: str
    role: str
    content: _Content

    def explains(self, other: Signature) -> bool:
        """Tell whether what `other` says follows from what this signature says."""
        if self is other:
            return False
        if WAITING in other.content.tags and self.fault in BREAKING and self.role == "cause":
            return WAITING not in self.content.tags
        known = {other.id, other.fault, *other.content.tags}
        return any(name in known for name in self.content.explains)


class BadSignature(Problem):
    """Say what is wrong with which signature file."""


@cache
def signatures() -> Mapping[str, Signature]:
    """Return all signatures by id; raises BadSignature. The order is that of their paths."""
    found: dict[str, Signature] = {}
    for path in sorted(HERE.rglob("*.toml")):
        signature = read(path)
        if signature.id in found:
            raise BadSignature(f"{path}: there is another signature {signature.id!r}")
        found[signature.id] = signature
    return found


def read(path: Path) -> Signature:
    """Read one signature; raises BadSignature."""
    try:
        content = msgspec.toml.decode(path.read_bytes(), type=_Content)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise BadSignature(f"{path}: {error}") from None
    folder = path.parent.name
    role = folder if folder in ROLES else content.role
    fault = content.fault or (UNEXPLAINED if folder in ROLES else folder)
    return Signature(path.stem, fault, role, content)
