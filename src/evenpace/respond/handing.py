"""Hand a file to the job's loop, beside a ring; the job can have put anything there."""

from __future__ import annotations

from pathlib import Path


def put(path: Path, text: str) -> None:
    """Put a file there whole, by a rename; raises OSError. What was left at its side is not written into."""
    aside = path.with_name(f"{path.name}.new")
    aside.unlink(missing_ok=True)
    with aside.open("x", encoding="utf-8") as file:
        file.write(text)
    aside.replace(path)
