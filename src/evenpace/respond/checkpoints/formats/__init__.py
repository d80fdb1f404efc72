"""The formats of checkpoints, one file each, found by path.

A format's module has `matches(path) -> bool` (by name and shape only), `step(path) -> int | None` (as the
format itself records it) and `damage(path) -> str | None` (why it cannot be trusted; None where it is proven
valid). A module that judges single files has `SINGLE = True`: such files of one step belong together.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from pathlib import Path
from typing import Protocol, cast


class Format(Protocol):
    """A module of this package."""

    SINGLE: bool

    def matches(self, path: Path) -> bool:
        """Tell whether a path looks like a checkpoint of this format."""

    def step(self, path: Path) -> int | None:
        """Return the training step that the format records, if it does."""

    def damage(self, path: Path) -> str | None:
        """Return what is wrong with the checkpoint, None where it is proven valid."""


@cache
def formats() -> tuple[Format, ...]:
    """Return all formats in the order of their names."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return tuple(cast(Format, importlib.import_module(f"{__name__}.{name}")) for name in names)


def format_of(path: Path) -> Format | None:
    """Return the first format that matches `path`."""
    return next((kind for kind in formats() if kind.matches(path)), None)
