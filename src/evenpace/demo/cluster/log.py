"""The log of requests: who asked for what, with which verb. It is what proves that an audit only reads."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import asdict, dataclass
from typing import IO

import msgspec

KEPT = 100_000  # entries in memory


@dataclass(frozen=True, slots=True)
class Entry:
    """Hold one request and the code of its answer; `verb` and `resource` are empty for discovery."""

    time: str
    method: str
    path: str
    verb: str
    resource: str
    code: int
    agent: str


class Log:
    """Keep entries in memory, and write them to a file, a JSON object a line, where one is given."""

    def __init__(self, file: IO[bytes] | None = None) -> None:
        self._lock = threading.Lock()
        self._entries: deque[Entry] = deque(maxlen=KEPT)
        self._file = file

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Return what was logged so far, oldest first."""
        with self._lock:
            return tuple(self._entries)

    def add(self, entry: Entry) -> None:
        """Log one request."""
        with self._lock:
            self._entries.append(entry)
            if self._file is not None:
                self._file.write(msgspec.json.encode(asdict(entry)) + b"\n")
                self._file.flush()
