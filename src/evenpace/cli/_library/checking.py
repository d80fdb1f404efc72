"""Validate cases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evenpace.cli._library.output import put_json
from evenpace.library.catalogue import files as of_folder
from evenpace.library.catalogue import home
from evenpace.library.validate import validate as flaws_of
from evenpace.terms.spelling import line


def validate(files: Sequence[Path], folder: Path | None, form: str) -> int:
    """Print each flaw on a line; 1 where there is one."""
    chosen = _chosen(files) or of_folder(folder or home())
    beside = {path for one in chosen for path in _beside(one)}
    flaws = [flaw for flaw in flaws_of(sorted({*chosen, *beside})) if flaw.file in set(chosen)]
    if form == "json":
        found = [{"file": str(one.file), "line": one.line, "what": one.what, "fix": one.fix} for one in flaws]
        put_json({"cases": len(chosen), "errors": len(flaws), "flaws": found})
        return 1 if flaws else 0
    for flaw in flaws:
        print(line(str(flaw)))
    if flaws:
        damaged = len({flaw.file for flaw in flaws})
        print(f"{_counted(len(chosen), 'case')}, {_counted(len(flaws), 'error')} in {damaged} of them")
        return 1
    print(f"{_counted(len(chosen), 'case')}, 0 errors, both languages complete")
    return 0


def _chosen(files: Sequence[Path]) -> list[Path]:
    """Return the files, with those of a folder in its place."""
    return [path for one in files for path in (of_folder(one) if one.is_dir() else [one])]


def _beside(file: Path) -> list[Path]:
    """Return the cases in the same folder, whose ids a file must not take."""
    return of_folder(file.parent) if file.is_file() and file.suffix == ".yaml" else []


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
