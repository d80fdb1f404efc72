"""Files beside a ring: the job can have put anything there, so nobody waits for it or writes through it."""

from __future__ import annotations

import os
from pathlib import Path


def read(path: Path, most: int) -> bytes:
    """Return up to `most` bytes of a file; raises OSError. A pipe that says nothing is not waited for."""
    with open(path, "rb", opener=at_once) as file:
        return file.read(most) or b""


def put(path: Path, text: str) -> None:
    """Put a file there whole, by a rename; raises OSError. What was left at its side is not written into."""
    aside = path.with_name(f"{path.name}.new")
    aside.unlink(missing_ok=True)
    with aside.open("x", encoding="utf-8") as file:
        file.write(text)
    aside.replace(path)


def at_once(path: str, flags: int) -> int:
    """Open without waiting for anybody, whatever kind of file it is."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
