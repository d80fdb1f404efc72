"""At which optimizer step the workers pause, told to all of them ahead."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from evenpace.collect.job.rings import RingError, RingReader
from evenpace.respond.handing import put
from evenpace.tap.inject.evenpace_tap import layout

MARGIN_SECONDS = 0.5
_FEWEST_STEPS = 3


class Waiting(Protocol):
    """Wait so many seconds; tell whether it was cancelled meanwhile (as threading.Event.wait does)."""

    def __call__(self, timeout: float) -> bool:
        """Wait."""


def steps(rings: Mapping[int, Path]) -> dict[int, int]:
    """Return how many optimizer steps each worker has made; one whose ring is gone is left out."""
    made = {}
    for rank, path in rings.items():
        with suppress(OSError, RingError):
            reader = RingReader(path)
            header = reader.header()
            reader.close()
            if header.state == layout.STATE_RUNNING:
                made[rank] = header.optimizer_steps
    return made


def choose(rings: Mapping[int, Path], wait: Waiting) -> int | None:
    """Return a step that no worker has made by the time that all know of it; None where steps are not seen.

    It lies half a second ahead of the fastest worker, and three steps at least.
    """
    before = steps(rings)
    if len(before) < len(rings) or not all(before.values()) or wait(MARGIN_SECONDS):
        return None
    after = steps(rings)
    if len(after) < len(rings):
        return None
    made = max(after[rank] - before[rank] for rank in rings)
    return max(after.values()) + max(_FEWEST_STEPS, made)


class Announcement:
    """The .probe files of all workers, from entering to leaving; raises OSError where one cannot be."""

    def __init__(self, rings: Mapping[int, Path], version: int, step: int, socket: Path) -> None:
        self._paths = [path.with_suffix(layout.PROBE_SUFFIX) for path in rings.values()]
        self._text = json.dumps({"version": version, "step": step, "socket": str(socket)})

    def __enter__(self) -> Announcement:
        try:
            for path in self._paths:
                put(path, self._text)
        except OSError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for path in self._paths:
            for one in (path, path.with_suffix(layout.PROBE_SUFFIX + ".new")):
                with suppress(OSError):
                    one.unlink(missing_ok=True)
