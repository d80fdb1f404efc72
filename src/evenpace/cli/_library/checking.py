"""Validate cases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evenpace.cli._library.output import put_json
from evenpace.library.catalogue import files as of_folder
from evenpace.library.catalogue import home
from evenpace.library.validate import validate as flaws_of
from evenpace.report.words import line


def validate(files: Sequence[Path], folder: Path | None, form: str) -> int:
    """Print each flaw on a line; 1 where there is one."""
    chosen = list(files) or of_folder(folder or home())
    flaws = flaws_of(chosen)
    if form == "json":
        found = [{"file": str(one.file), "line": one.line, "what": one.what, "fix": one.fix} for one in flaws]
        put_json({"cases": len(chosen), "errors": len(flaws), "flaws": found})
        return 1 if flaws else 0
    for flaw in flaws:
        print(line(str(flaw)))
    damaged = len({flaw.file for flaw in flaws})
    if flaws:
        print(f"{len(chosen)} cases, {len(flaws)} errors in {damaged} of them")
        return 1
    print(f"{len(chosen)} cases, 0 errors, both languages complete")
    return 0
