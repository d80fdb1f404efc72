"""A single file of torch.save: *.pt, *.pth, *.ckpt; a zip archive with a CRC for each member."""

from __future__ import annotations

from pathlib import Path

from evenpace.respond.checkpoints.files import Damaged, Window, open_file
from evenpace.respond.checkpoints.zips import prove

SINGLE = True
SUFFIXES = (".pt", ".pth", ".ckpt")


def matches(path: Path) -> bool:
    """Tell by the suffix."""
    return path.suffix in SUFFIXES and path.is_file()


def step(path: Path) -> int | None:  # noqa: ARG001  a file does not say; its name may
    """Return None."""
    return None


def damage(path: Path) -> str | None:
    """Read the whole archive and compare the CRCs."""
    try:
        with open_file(path) as file:
            prove(Window(file, 0, file.seek(0, 2)))
    except Damaged as reason:
        return str(reason)
    return None
