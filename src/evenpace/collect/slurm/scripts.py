"""Read the programs that Slurm starts on nodes, where their files can be read from here."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from evenpace.collect import beside
from evenpace.collect.slurm.model import Script
from evenpace.collect.snapshot import Snapshot, Unread, Why
from evenpace.errors import Problem

LARGEST = 1 << 20  # bytes of a script
MOST = 200  # scripts
ROLES = (
    *("Prolog", "Epilog", "PrologSlurmctld", "EpilogSlurmctld", "TaskProlog", "TaskEpilog"),
    *("SrunProlog", "SrunEpilog", "HealthCheckProgram", "UnkillableStepProgram", "RebootProgram"),
)
_UNSET = ("", "(null)", "none")
# Node Health Check keeps what it looks at in a file of its own.
_NHC = Path("/etc/nhc/nhc.conf")


def read(config: Mapping[str, str]) -> tuple[tuple[Script, ...], Unread | None]:
    """Return the scripts that the settings name and that can be read, and why others cannot."""
    found: list[Script] = []
    unread: Unread | None = None
    for role, path in list(_named(config))[:MOST]:
        try:
            found.append(one(role, path))
        except (OSError, ValueError) as error:
            why = Why.FORBIDDEN if isinstance(error, PermissionError) else Why.FAILED
            unread = unread or Unread(why, f"{role} {path}", getattr(error, "strerror", None) or str(error))
    return tuple(found), unread


def _named(config: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    """Yield (role, path); `Prolog[0]` is one of several, a pattern stands for the files that it matches."""
    folder = Path(config.get("SLURM_CONF", "/etc/slurm/slurm.conf")).parent
    for key, value in config.items():
        role = key.partition("[")[0]
        if role not in ROLES or value.strip().casefold() in _UNSET:
            continue
        for path in _files(folder, value.strip()):
            yield role, path
            if path.name == "nhc" and _NHC.exists():
                yield role, _NHC


def _files(folder: Path, value: str) -> list[Path]:
    """Return the files that a setting means: a program, one with arguments, or a pattern."""
    path = folder / value
    try:
        if any(sign in path.name for sign in "*?["):
            return sorted(path.parent.glob(path.name)) or [path]
        return [path if path.exists() or not value.split() else folder / value.split(maxsplit=1)[0]]
    except (OSError, ValueError):  # no name that a file can have; whoever opens it says so
        return [path]


def with_jobs(snapshot: Snapshot, paths: Iterable[Path]) -> Snapshot:
    """Add batch scripts that the user named to a snapshot; raises Problem for one that cannot be read."""
    found = list(snapshot.kinds.get("scripts", ()))
    for path in paths:
        try:
            found.append(one("job", path))
        except (OSError, ValueError) as error:
            raise Problem(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    kinds = {**snapshot.kinds, "scripts": tuple(found)}
    unread = {kind: reason for kind, reason in snapshot.unread.items() if kind != "scripts"}
    return replace(snapshot, kinds=kinds, unread=unread)


def one(role: str, path: Path) -> Script:
    """Read a script; the batch script `4711.sh` is that of job 4711. Raises OSError, ValueError."""
    number = path.name.partition(".")[0]
    return Script(role, str(path), text(path), number if role == "job" and number.isdigit() else "")


def text(path: Path) -> str:
    """Return a file's text; raises OSError, and ValueError for what is too large or no text."""
    descriptor = beside.at_once(path)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("not a file")
        raw = file.read(LARGEST + 1)
    if len(raw) > LARGEST:
        raise ValueError(f"larger than {LARGEST >> 20} MiB")
    if b"\0" in raw:
        raise ValueError("a program, not a script")
    return raw.decode("utf-8", "replace")
