"""Read the rings that the tap writes, from outside the worker and while it writes them."""

from __future__ import annotations

import json
import os
import struct
import weakref
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenpace.collect import beside
from evenpace.tap.inject.evenpace_tap import layout

RECORD_DTYPE = np.dtype(list(layout.RECORD_FIELDS))
POLLED_DTYPE = np.dtype([("index", "<u8"), *layout.RECORD_FIELDS])
_MOST_OPEN = 8192  # records that are looked at again; the oldest beyond that are given up
_MOST_GROUPS_BYTES = 8 << 20
_MOST_CAPACITY = 1 << 20
_MOST_HEAD = 1 << 62


class RingError(Exception):
    """The file is not a ring that this version can read; the message says why."""


@dataclass(frozen=True)
class RingHeader:
    """A ring's header at one moment; the fields are those of layout.HEADER_FIELDS and of its text areas."""

    header_bytes: int
    record_bytes: int
    capacity: int
    tap_kind: int
    head: int
    rank: int
    world_size: int
    local_rank: int
    pid: int
    state: int
    exit_code: int
    wall_offset_ns: int
    heartbeat_ns: int
    started_ns: int
    exited_ns: int
    lost: int
    optimizer_steps: int
    stack_ns: int
    stack_changes: int
    pid_start_ticks: int
    plan_version: int
    plan_step: int
    plan_pause_ns: int
    micro_batches: int
    micro_batch_ns: int
    loop_step: int
    node: str
    message: str
    exception: str
    stack: str


@dataclass(frozen=True)
class Group:
    """A process group: its name, and the global rank of each of its ranks in order."""

    name: str
    ranks: tuple[int, ...]


class RingReader:
    """One worker's ring. Raises RingError where the file is none; OSError where it cannot be opened.

    It reads and does not map: a file that is cut short meanwhile must not kill the reader with SIGBUS.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.missed = 0  # records that were overwritten before they were read
        self._next = 0
        self._open: NDArray[np.void] = np.empty(0, POLLED_DTYPE)
        self._file = beside.at_once(path)
        self.close = weakref.finalize(
            self, os.close, self._file
        )  # for those who cannot wait for the collector
        self._capacity = self._check(self._bytes(0, layout.HEADER_BYTES))

    def _check(self, start: bytes) -> int:
        """Return the ring's capacity in records."""
        if not start.startswith(layout.MAGIC):
            raise RingError(f"{self.path}: not a ring of this version of evenpace, or not yet written")
        header, record, capacity = struct.unpack_from("<III", start, 8)
        if (header, record) != (layout.HEADER_BYTES, layout.RECORD_BYTES):
            raise RingError(f"{self.path}: a ring of another layout: header {header}, record {record} bytes")
        if not 0 < capacity <= _MOST_CAPACITY or capacity & (capacity - 1):
            raise RingError(f"{self.path}: its capacity is not a power of two: {capacity}")
        size = os.fstat(self._file).st_size
        if size < header + capacity * record:
            raise RingError(f"{self.path}: cut short: {size} bytes, {capacity} records expected")
        return int(capacity)

    def header(self) -> RingHeader:
        """Return the header as it is now. A text that is being written may come out mixed."""
        start = self._bytes(0, layout.HEADER_BYTES)
        numbers = {
            name: struct.unpack_from(code, start, offset)[0]
            for name, (offset, code) in layout.HEADER_FIELDS.items()
            if name != "magic"
        }
        return RingHeader(
            **numbers,
            node=_text(start, layout.NODE_AREA),
            message=_text(start, layout.MESSAGE_AREA),
            exception=_text(start, layout.EXCEPTION_AREA),
            stack=_text(start, layout.STACK_AREA),
        )

    def poll(self) -> NDArray[np.void]:
        """Return what is new or has changed since the last poll, in order of index; dtype POLLED_DTYPE.

        A record is looked at again until it has completed and no wait on it is under way.
        """
        changed = self._reread()
        fresh = self._fresh()
        kept = np.concatenate([self._open, fresh])
        self._open = kept[_unsettled(kept)][-_MOST_OPEN:]
        return np.concatenate([changed, fresh])

    def _reread(self) -> NDArray[np.void]:
        """Read the open records again; return those that differ, and forget those that were overwritten."""
        now, valid = self._read(self._open["index"])
        before, self._open = self._open[valid], now
        changed: NDArray[np.void] = now[now != before]
        return changed

    def _fresh(self) -> NDArray[np.void]:
        """Read on to the head, or to the first record that is still being written."""
        head = self._head()
        first = max(self._next, head - self._capacity)
        self.missed += first - self._next
        records, valid = self._read(np.arange(first, max(first, head), dtype=np.uint64))
        overwritten = np.arange(valid.size) < self._head() - self._capacity - first
        writing = np.flatnonzero(~valid & ~overwritten)
        end = int(writing[0]) if writing.size else valid.size
        kept = records[: np.count_nonzero(valid[:end])]
        self.missed += end - kept.size
        self._next = first + end
        return kept

    def _head(self) -> int:
        head: int = struct.unpack("<Q", self._bytes(layout.HEADER_FIELDS["head"][0], 8))[0]
        return min(head, _MOST_HEAD)

    def _read(self, index: NDArray[np.uint64]) -> tuple[NDArray[np.void], NDArray[np.bool_]]:
        """Copy the records of these indices; return those that are whole, and which they are."""
        slots = (index % np.uint64(self._capacity)).astype(np.intp)
        copies = self._copy(slots)
        valid = copies["marker"] == index + np.uint64(1)
        valid &= self._copy(slots)["marker"] == copies["marker"]  # not begun anew while it was being copied
        records = np.empty(np.count_nonzero(valid), POLLED_DTYPE)
        records["index"] = index[valid]
        for name in RECORD_DTYPE.names or ():
            records[name] = copies[name][valid]
        return records, valid

    def _copy(self, slots: NDArray[np.intp]) -> NDArray[np.void]:
        """Copy the records in these slots; neighbours are read at once."""
        runs = np.split(slots, np.flatnonzero(np.diff(slots) != 1) + 1)
        return np.concatenate([self._run(run) for run in runs])

    def _run(self, slots: NDArray[np.intp]) -> NDArray[np.void]:
        if not slots.size:
            return np.empty(0, RECORD_DTYPE)
        offset = layout.HEADER_BYTES + int(slots[0]) * layout.RECORD_BYTES
        return np.frombuffer(self._bytes(offset, slots.size * layout.RECORD_BYTES), RECORD_DTYPE)

    def _bytes(self, offset: int, size: int) -> bytes:
        data = os.pread(self._file, size, offset)
        if len(data) < size:
            raise RingError(f"{self.path}: cut short: nothing at byte {offset + len(data)}")
        return data


def _unsettled(records: NDArray[np.void]) -> NDArray[np.bool_]:
    open_ended = (records["complete_ns"] == 0) | (records["return_ns"] == 0)
    unsettled: NDArray[np.bool_] = open_ended | (records["waiting"] != 0)
    return unsettled


def _text(start: bytes, area: tuple[int, int]) -> str:
    offset, size = area
    return start[offset : offset + size].split(b"\0", 1)[0].decode("utf-8", "replace")


def read_groups(path: Path) -> dict[int, Group]:
    """Return the process groups of a .groups file by key; damaged lines are skipped."""
    try:
        lines = beside.read(path, _MOST_GROUPS_BYTES).splitlines()
    except OSError:
        return {}
    return dict(filter(None, map(_group, lines)))


def _group(line: bytes) -> tuple[int, Group] | None:
    try:
        fields = json.loads(line)
        return int(fields["key"]), Group(str(fields["name"]), tuple(int(rank) for rank in fields["ranks"]))
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return None
