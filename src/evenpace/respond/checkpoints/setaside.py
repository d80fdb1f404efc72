"""Move a damaged checkpoint out of the way of a script that loads the newest one. Nothing is ever deleted."""

from __future__ import annotations

from pathlib import Path

from evenpace.respond.checkpoints.search import SET_ASIDE


def set_aside(path: Path, folder: Path) -> Path | None:
    """Rename `path` into FOLDER/.evenpace-set-aside; return the new path, None where that is impossible."""
    if path == folder:
        return None
    shelf = folder / SET_ASIDE
    target, number = shelf / path.name, 2
    try:
        shelf.mkdir(exist_ok=True)
        while target.exists():
            target, number = shelf / f"{path.name}.{number}", number + 1
        return path.rename(target)
    except OSError:
        return None
