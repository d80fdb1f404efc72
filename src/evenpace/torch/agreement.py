"""All ranks change to a plan at the same step: rank 0 alone reads it and tells the others ahead of time.

Each step starts one small asynchronous broadcast over a CPU group of our own, which is waited on in the next
step, when it is long done; what it said takes effect in that step, on every rank.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeGuard

import torch
import torch.distributed as dist

from evenpace.tap.inject.evenpace_tap import layout
from evenpace.torch import telling

_PATIENCE = timedelta(days=1)  # a job that hangs is not for this group to end
_MOST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Plan:
    """What takes effect in a step: the plan file's `version` and the numbers under the agreement's key."""

    version: int
    values: tuple[int, ...]


class Agreement:
    """Learn of plans under `key` ("counts" or "positions"), `length` integers each. To be made on all ranks.

    `refuse` says what is wrong with the values of a plan, nothing where they are good; rank 0 asks it, and
    a plan that is refused is ignored by all.
    """

    def __init__(self, key: str, length: int, refuse: Callable[[Sequence[int]], str]) -> None:
        self._length = length
        self._group = dist.new_group(backend="gloo", timeout=_PATIENCE)
        self._pending: Any = None  # the broadcast under way
        self._words = torch.zeros(1 + length, dtype=torch.int64)
        self._version = 0
        path = telling.beside(layout.PLAN_SUFFIX) if dist.get_rank() == 0 else None
        self._file = None if path is None else PlanFile(path, key, length, refuse)

    def step(self) -> Plan | None:
        """Begin a step; return the plan that takes effect in it, None where nothing changes.

        To be called once a step by every rank. Raises what torch raises where a peer is gone.
        """
        plan = self._due() if self._pending is not None else None
        self._announce()
        return plan

    def close(self) -> None:
        """Wait for what is under way; afterwards the process groups can be destroyed."""
        if self._pending is not None:
            self._pending.wait()
            self._pending = None

    def _announce(self) -> None:
        newest = None if self._file is None else self._file.newest()
        if newest is not None and newest.version != self._words.numpy()[0]:
            self._words.copy_(torch.tensor([newest.version, *newest.values]))
        self._pending = dist.broadcast(self._words, src=0, group=self._group, async_op=True)

    def _due(self) -> Plan | None:
        self._pending.wait()
        version = int(self._words.numpy()[0])  # its own memory, and faster than an operator of torch
        if version <= self._version:
            return None
        self._version = version
        return Plan(version, tuple(self._words[1:].tolist()))


class PlanFile:
    """The controller's plan for rank 0: read when it has changed, checked, and refused aloud, once each."""

    def __init__(self, path: Path, key: str, length: int, refuse: Callable[[Sequence[int]], str]) -> None:
        self._path, self._key, self._length, self._refuse = path, key, length, refuse
        self._seen: tuple[int, int, int] | None = None
        self._newest: Plan | None = None

    def newest(self) -> Plan | None:
        """Return the newest good plan that there has been, None before the first."""
        try:
            status = self._path.stat()
        except OSError:
            return self._newest
        seen = (status.st_mtime_ns, status.st_ino, status.st_size)
        if seen != self._seen:
            self._seen = seen
            self._take(telling.read(self._path))
        return self._newest

    def _take(self, found: dict[str, Any]) -> None:
        values = found.get(self._key)
        if values is None:  # another agreement's
            return
        why = self._wrong(found.get("version"), values)
        if why:
            telling.warn(f"the plan {str(found)[:200]} is ignored: {why}")
        else:
            self._newest = Plan(found["version"], tuple(values))

    def _wrong(self, version: object, values: object) -> str:
        """Say what is wrong with a plan, nothing where it is good."""
        newest = 0 if self._newest is None else self._newest.version
        if not _is_number(version) or version <= newest:
            return f"its version is not a number above {newest}"
        if not isinstance(values, list) or not all(_is_number(value) for value in values):
            return f"its {self._key} are not a list of numbers"
        if len(values) != self._length:
            return f"it has {len(values)} {self._key} instead of {self._length}"
        return self._refuse(values)


def _is_number(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST
