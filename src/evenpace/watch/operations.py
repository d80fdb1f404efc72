"""The recent operations of one worker, with groups and peers in the job's own numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evenpace.tap.inject.evenpace_tap import layout

WINDOW = 16384  # operations kept per worker; a power of two

OPERATION = np.dtype(
    [
        ("index", "<i8"),  # position in the worker's stream
        ("enter", "<i8"),  # times: monotonic nanoseconds, 0 for "not yet"
        ("complete", "<i8"),
        ("wait_enter", "<i8"),
        ("wait_ns", "<i8"),
        ("bytes", "<i8"),
        ("group", "<i8"),  # number in the GroupBook
        ("sequence", "<i8"),
        ("peer", "<i8"),  # global rank, -1 where there is none
        ("kind", "<i8"),
        ("point_to_point", "?"),
        ("waiting", "?"),
        ("untold", "?"),  # its completion will never be known
    ]
)

Operations = NDArray[np.void]

SEND = layout.KINDS.index("send")
COLLECTIVES = -1  # the channel of a group's collectives


def channels(operations: Operations) -> NDArray[np.int64]:
    """Return each operation's channel in its group: one for collectives, else one per peer and direction."""
    pairs = (operations["peer"] + 1) * 2 + (operations["kind"] == SEND)
    result: NDArray[np.int64] = np.where(operations["point_to_point"], pairs, COLLECTIVES)
    return result


def peer_of(channel: int) -> int:
    """Return the global rank at the other end of a send or receive channel."""
    return channel // 2 - 1


def sends(channel: int) -> bool:
    """Tell whether a point-to-point channel is of sends."""
    return channel % 2 == 1


@dataclass(slots=True)
class OperationWindow:
    """Keep the last `WINDOW` operations; a later record of the same operation replaces the earlier one."""

    next_index: int = 0
    _slots: Operations = field(default_factory=lambda: np.full(WINDOW, -1, np.int64).astype(OPERATION))

    def store(self, operations: Operations) -> None:
        """Take new and changed operations, in order of index."""
        recent = operations[operations["index"] >= self.next_index - WINDOW][-WINDOW:]
        if not len(recent):
            return
        self._slots[recent["index"] % WINDOW] = recent
        self.next_index = max(self.next_index, int(recent["index"].max()) + 1)

    def slice(self, first: int, last: int) -> Operations:
        """Return operations first..last (inclusive) as far as they are still in the window."""
        wanted = np.arange(max(first, self.next_index - WINDOW, 0), min(last + 1, self.next_index))
        found = self._slots[wanted % WINDOW]
        kept: Operations = found[found["index"] == wanted]
        return kept

    def tail(self, count: int) -> Operations:
        """Return the last `count` operations."""
        return self.slice(self.next_index - count, self.next_index - 1)
