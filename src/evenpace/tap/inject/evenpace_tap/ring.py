"""The ring file as its worker writes it: made in full, then a header, text areas and (Python tap) records."""

from __future__ import annotations

import mmap
import os
import struct
import threading
import time

from . import layout

_CODES = {"<u8": "Q", "<u4": "I", "<i4": "i", "<u2": "H", "u1": "B"}
_RECORD = struct.Struct("<" + "".join(_CODES[code] for _, code in layout.RECORD_FIELDS))
_WIDTHS = [int(code[-1]) for _, code in layout.RECORD_FIELDS]
_OFFSETS = {name: sum(_WIDTHS[:place]) for place, (name, _) in enumerate(layout.RECORD_FIELDS)}
U64 = struct.Struct("<Q")
U16 = struct.Struct("<H")
U8 = struct.Struct("<B")


def _start_ticks() -> int:
    """Return field 22 of /proc/self/stat, 0 where there is none."""
    try:
        with open("/proc/self/stat", "rb") as file:  # noqa: PTH123
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0


class Ring:
    """One worker's ring. Raises OSError where the file cannot be made in full."""

    def __init__(self, path: str, node: str, tap_kind: int) -> None:
        self.path = path
        self.lock = threading.Lock()
        size = layout.HEADER_BYTES + layout.CAPACITY * layout.RECORD_BYTES
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            # All blocks now: a write into a hole of a full disk would kill the worker with SIGBUS.
            os.posix_fallocate(descriptor, 0, size)
            self._memory = mmap.mmap(descriptor, size)
        except OSError:
            os.unlink(path)  # noqa: PTH108
            raise
        finally:
            os.close(descriptor)
        self._head = 0
        self._notes: dict[str, str] = {}
        self._fill_header(node, tap_kind)

    def _fill_header(self, node: str, tap_kind: int) -> None:
        started = time.monotonic_ns()
        self.set(
            header_bytes=layout.HEADER_BYTES,
            record_bytes=layout.RECORD_BYTES,
            capacity=layout.CAPACITY,
            tap_kind=tap_kind,
            rank=-1,
            local_rank=-1,
            pid=os.getpid(),
            state=layout.STATE_RUNNING,
            wall_offset_ns=time.time_ns() - started,
            heartbeat_ns=started,
            started_ns=started,
            pid_start_ticks=_start_ticks(),
        )
        self.write_text(layout.NODE_AREA, node)
        self._memory[: len(layout.MAGIC)] = (
            layout.MAGIC
        )  # last: a reader takes the header for whole from here

    def set(self, **fields: int) -> None:
        """Write header fields by name."""
        for name, value in fields.items():
            offset, code = layout.field_struct(name)
            code.pack_into(self._memory, offset, value)

    def get(self, name: str) -> int:
        """Read a header field."""
        offset, code = layout.field_struct(name)
        value: int = code.unpack_from(self._memory, offset)[0]
        return value

    def write_text(self, area: tuple[int, int], text: str) -> None:
        """Write UTF-8 text, cut to the area and NUL-terminated."""
        offset, size = area
        data = text.encode("utf-8", "replace")[: size - 1] + b"\0"
        self._memory[offset : offset + len(data)] = data

    def note(self, about: str, text: str) -> None:
        """Say in the message area what is degraded; a later note about the same replaces the earlier one."""
        if self._notes.get(about) != text:
            self._notes[about] = text
            self.write_text(layout.MESSAGE_AREA, "; ".join(list(self._notes.values())))

    def append(self, fields: tuple[int, ...]) -> int:
        """Write a record (all fields of layout.RECORD_FIELDS after the marker) and return its index."""
        with self.lock:
            index = self._head
            self._head += 1
            offset = self._offset(index)
            U64.pack_into(self._memory, offset, 0)
            U64.pack_into(self._memory, layout.HEADER_FIELDS["head"][0], index + 1)
            _RECORD.pack_into(self._memory, offset, 0, *fields)
            U64.pack_into(self._memory, offset, index + 1)
        return index

    def say(self, kind: int, first: int, second: int) -> None:
        """Write a record of what a loop says, complete at once: bytes `first`, wait `second`."""
        now = time.monotonic_ns()
        self.append((now, now, now, 0, second, first, 0, 0, -1, kind, 0, 0, threading.get_native_id()))

    def update(self, index: int, name: str, value: int, code: struct.Struct = U64) -> None:
        """Change one field of a record, unless it has been overwritten."""
        offset = self._offset(index)
        if U64.unpack_from(self._memory, offset)[0] == index + 1:
            code.pack_into(self._memory, offset + _OFFSETS[name], value)

    def add_flag(self, index: int, flag: int) -> None:
        """Set a bit of a record's flags."""
        offset = self._offset(index) + _OFFSETS["flags"]
        self.update(index, "flags", self._memory[offset] | flag, U8)

    @staticmethod
    def _offset(index: int) -> int:
        return layout.HEADER_BYTES + (index % layout.CAPACITY) * layout.RECORD_BYTES
