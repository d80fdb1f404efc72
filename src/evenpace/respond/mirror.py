"""Show the output of the job on our own standard output, by following its log files."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path

PAUSE = 0.1  # seconds
CHUNK = 1 << 16


class _Log:
    """One node's log: what was added since the last look, with a prefix before each whole line."""

    def __init__(self, path: Path, prefix: bytes, offset: int) -> None:
        self._path, self._prefix, self._offset = path, prefix, offset
        self._rest = b""

    def read(self, *, last: bool) -> bytes | None:
        """Return what to show of the next chunk, None for nothing. `last`: a line without end counts too."""
        data = self._new()
        if not data and not (last and self._rest):
            return None
        if not self._prefix:
            return data
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > CHUNK or (not data and self._rest):
            lines.append(self._rest)
            self._rest = b""
        return b"".join(self._prefix + line + b"\n" for line in lines)

    def _new(self) -> bytes:
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read(CHUNK)
        except OSError:
            return b""
        self._offset += len(data)
        return data


class Mirror:
    """Follow logs in a thread of its own: a terminal that blocks must not hold up the watch."""

    def __init__(self, output: int) -> None:
        self._output = output
        self._logs: list[_Log] = []
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="mirror", daemon=True)
        self._thread.start()

    def follow(self, paths: Mapping[str, Path], *, names: bool, from_end: bool = False) -> None:
        """Add logs by node; `names`: each line begins with its node; `from_end`: only what is new."""
        with self._lock:
            for node, path in paths.items():
                offset = path.stat().st_size if from_end and path.exists() else 0
                self._logs.append(_Log(path, f"[{node}] ".encode() if names else b"", offset))

    def close(self, timeout: float = 5.0) -> None:
        """Show the rest, waiting at most `timeout` seconds for whoever takes our output."""
        self._done.set()
        self._thread.join(timeout)

    def _run(self) -> None:
        try:
            while not self._done.wait(PAUSE):
                self._show(last=False)
            self._show(last=True)
        except OSError:
            return  # nobody reads us any more

    def _show(self, *, last: bool) -> None:
        with self._lock:
            logs = list(self._logs)
        for log in logs:
            while (data := log.read(last=last)) is not None:
                _write(self._output, data)


def _write(output: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(output, view) :]
