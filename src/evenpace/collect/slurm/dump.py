"""Read a folder of what Slurm's commands printed, a file named for each: `scontrol_show_config.txt`."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evenpace.collect.slurm.settings import settings
from evenpace.collect.snapshot import Snapshot, Unread, Why

LARGEST = 1 << 28  # bytes of a file
# command → (kind, how its text is read)
_COMMANDS: dict[str, tuple[str, Callable[[str], Any]]] = {"scontrol show config": ("config", settings)}
_JOINTS = re.compile(r"[\s_-]+")


def read(folder: Path) -> Snapshot | None:
    """Read a folder; None where no file in it is from Slurm. Raises OSError where it cannot be listed."""
    kinds: dict[str, Any] = {}
    unread: dict[str, Unread] = {}
    newest = 0.0
    for path in sorted(folder.glob("*.txt")):
        command = _JOINTS.sub(" ", path.stem)
        if command in _COMMANDS:
            kind, parse = _COMMANDS[command]
            newest = max(newest, path.stat().st_mtime)
            try:
                kinds[kind] = parse(_text(path))
            except (OSError, ValueError) as error:
                unread[kind] = Unread(Why.MALFORMED, path.name, str(error)[:200])
    if not kinds and not unread:
        return None
    version = kinds.get("config", {}).get("SLURM_VERSION")
    return Snapshot("slurm", str(folder), datetime.fromtimestamp(newest, UTC), kinds, unread, version)


def _text(path: Path) -> str:
    with path.open("rb") as file:
        raw = file.read(LARGEST + 1)
    if len(raw) > LARGEST:
        raise ValueError(f"larger than {LARGEST >> 20} MiB")
    return raw.decode("utf-8", "replace")
