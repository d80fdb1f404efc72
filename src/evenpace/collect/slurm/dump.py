"""Read a folder of what Slurm's commands printed, a file named for each: `scontrol_show_config.txt`.

Text is best printed by `TZ=UTC` and `-o`; JSON is read where a command has it. Beside the answers of
commands: `gres.conf`, a folder `scripts/` with a file named for each setting (`Prolog.sh`), `job_scripts/`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evenpace.collect.slurm import scripts
from evenpace.collect.slurm.hostlist import Hostlists, TooManyNames
from evenpace.collect.slurm.model import Script
from evenpace.collect.slurm.reading import of_json, of_text
from evenpace.collect.slurm.values import instant
from evenpace.collect.snapshot import Snapshot, Unread, Why

LARGEST = 1 << 28  # bytes of a file
MOST_SCRIPTS = 1000
# What a file's name says → kind. Of several files of a kind the first here is read, and JSON before text.
_COMMANDS = {
    "scontrol show config": "config",
    "scontrol show node": "nodes",
    "sinfo": "nodes",
    "scontrol show partition": "partitions",
    "scontrol show reservation": "reservations",
    "squeue": "jobs",
    "scontrol show job": "jobs",
    "sacct": "accounting",
    "scontrol show topology": "topology",
    "gres.conf": "gres.conf",
}
_JSON = ("nodes", "partitions", "reservations", "jobs", "accounting")
_OPTIONS = ("all", "details", "oneliner", "json")
_WORD = re.compile(r"[\s_-]+")
_AS_OF = re.compile(rb"Configuration data as of ([0-9T:-]{19})")


def read(folder: Path) -> Snapshot | None:
    """Read a folder; None where no file in it is from Slurm. Raises OSError where it cannot be listed."""
    kinds: dict[str, Any] = {}
    unread: dict[str, Unread] = {}
    lists = Hostlists()
    newest, as_of = 0.0, None
    for kind, path in _files(folder):
        if kind in kinds:
            continue
        newest = max(newest, path.stat().st_mtime)
        try:
            raw = _bytes(path)
            as_of = as_of or _as_of(raw)
            kinds[kind] = _read(kind, path, raw, lists)
            unread.pop(kind, None)
        except (OSError, ValueError) as error:
            why = Why.TOO_LARGE if isinstance(error, TooManyNames) else Why.MALFORMED
            unread.setdefault(kind, Unread(why, path.name, str(error)[:200]))
    if found := _scripts(folder):
        kinds["scripts"] = found
    if not kinds and not unread:
        return None
    taken = as_of or datetime.fromtimestamp(newest, UTC)
    version = kinds.get("config", {}).get("SLURM_VERSION")
    return Snapshot("slurm", str(folder), taken, kinds, unread, version)


def _read(kind: str, path: Path, raw: bytes, lists: Hostlists) -> Any:
    if path.suffix == ".json" or (kind in _JSON and raw.lstrip()[:1] == b"{"):
        return of_json(kind, raw, lists)
    return of_text(kind, raw.decode("utf-8", "replace"), lists)


def _as_of(raw: bytes) -> datetime | None:
    """Return when the settings were printed: like all times of text it is taken for UTC."""
    match = _AS_OF.search(raw[:200])
    return instant(match.group(1).decode()) if match else None


def _files(folder: Path) -> list[tuple[str, Path]]:
    """Return (kind, file) in the order in which they are to be read."""
    order = {command: rank for rank, command in enumerate(_COMMANDS)}
    found = []
    for path in folder.iterdir():
        command = path.name if path.name in _COMMANDS else _command(path)
        if command in _COMMANDS and (path.suffix != ".json" or _COMMANDS[command] in _JSON):
            found.append((order[command], path.suffix, path.name, path, _COMMANDS[command]))
    return [(kind, path) for *_, path, kind in sorted(found) if path.is_file()]


def _command(path: Path) -> str:
    """Return the command that a file is named for: `scontrol_-o_show_nodes.txt` is `scontrol show node`."""
    if path.suffix not in {".txt", ".json"}:
        return ""
    words = [word for word in _WORD.split(path.stem) if len(word) > 1 and word not in _OPTIONS]
    if words[:1] != ["scontrol"]:
        return words[0] if words else ""
    name = " ".join(words)
    return name if name in _COMMANDS else name.removesuffix("s")


def _scripts(folder: Path) -> tuple[Script, ...]:
    """Read `scripts/Prolog.sh` and `job_scripts/*`; what cannot be read is left out."""
    found = []
    paths = [*_listed(folder / "scripts"), *_listed(folder / "job_scripts")]
    for path in paths[:MOST_SCRIPTS]:
        role = "job" if path.parent.name == "job_scripts" else _role(path.name.partition(".")[0])
        try:
            found += [scripts.one(role, path)] if role else []
        except (OSError, ValueError):
            continue
    return tuple(found)


def _listed(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _role(name: str) -> str:
    return {role.casefold(): role for role in scripts.ROLES}.get(name.casefold(), "")


def _bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        raw = file.read(LARGEST + 1)
    if len(raw) > LARGEST:
        raise ValueError(f"larger than {LARGEST >> 20} MiB")
    return raw
