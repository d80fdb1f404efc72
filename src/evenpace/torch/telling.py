"""What a training loop says through its worker's ring, and the files beside it; without a ring: nothing.

Nothing here raises: a loop must not end because of what watches it.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from evenpace.tap.inject.evenpace_tap import layout

try:
    from evenpace_tap import loop as _loop
except ImportError:  # not under `evenpace run`
    _loop = None

_MOST_BYTES = 4 << 20  # of a file beside the ring


def beside(suffix: str) -> Path | None:
    """Return the path of a file beside this worker's ring, None where it has no ring."""
    path = None if _loop is None else _loop.beside(suffix)
    return None if path is None else Path(path)


def tell(**fields: int) -> None:
    """Write fields of `layout.HEADER_FIELDS` that belong to a loop."""
    if _loop is not None:
        _loop.set(**fields)


def work(tokens: int, squares: int = 0) -> None:
    """Say what the step that begins has to do: its tokens, and the sum of squared sequence lengths.

    Where the work of steps differs, evenpace then does not take a long step for a slow one.
    """
    if _loop is not None:
        _loop.work(tokens, squares)


def share(micro_batches: int, each_ns: int) -> None:
    """Say what the step that ends was: this worker's micro-batches, and its own time of one of them."""
    if _loop is not None:
        _loop.share(micro_batches, each_ns)


def warn(text: str) -> None:
    """Say something to whoever reads the job's output, if anybody still does."""
    with contextlib.suppress(Exception):
        sys.stderr.write(f"evenpace: {text}\n")


def read(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file, an empty one where there is none that can be read."""
    try:
        # Whatever kind of file it is, training waits for nobody.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            found = json.loads(file.read(_MOST_BYTES))
    except (OSError, ValueError, TypeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def offer(what: str, content: dict[str, Any]) -> None:
    """Add to what this worker's loop offers: see `layout.OFFER_SUFFIX`."""
    path = beside(layout.OFFER_SUFFIX)
    if path is None:
        return
    whole = read(path) | {what: content}
    aside = path.with_name(f"{path.name}.new")
    with contextlib.suppress(OSError):
        aside.unlink(missing_ok=True)  # a pipe that somebody put there would be waited for
        with aside.open("x", encoding="utf-8") as file:
            file.write(json.dumps(whole))
        os.replace(aside, path)  # noqa: PTH105
