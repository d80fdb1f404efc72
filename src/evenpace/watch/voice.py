"""Say lines on a stream without ever waiting for whoever reads it."""

from __future__ import annotations

import os
import threading
from queue import Full, Queue
from types import TracebackType
from typing import TextIO

from evenpace.terms import say

MOST = 1000  # lines that wait for their reader


class Voice:
    """Print lines from a thread of its own: a paused terminal or a full pipe must not hold up the watch.

    Lines that find no room are left out and counted. Leaving the `with` waits a moment for the rest.
    """

    def __init__(self, stream: TextIO | None, lang: str, most: int = MOST, patience: float = 2.0) -> None:
        self._output = _descriptor(stream)
        self._encoding = getattr(stream, "encoding", None) or "utf-8"
        self._lang = lang
        self._patience = patience  # seconds
        self._lines: Queue[str | None] = Queue(most)
        self._lost = 0
        self._thread = threading.Thread(target=self._run, name="voice", daemon=True)

    def __enter__(self) -> Voice:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._lines.put(None, timeout=self._patience)
        except Full:
            return
        self._thread.join(self._patience)

    def say(self, text: str) -> None:
        """Say a text on one line, soon; what could steer a terminal is made harmless."""
        line = "".join(letter if letter.isprintable() else "\ufffd" for letter in " ".join(text.split()))
        try:
            self._lines.put_nowait(f"evenpace: {line}")
        except Full:
            self._lost += 1

    def _run(self) -> None:
        """Write what comes, from the descriptor itself: a lock held at exit would abort the interpreter."""
        told = 0
        try:
            while (line := self._lines.get()) is not None:
                self._write(line)
                if self._lines.empty() and (left_out := self._lost - told):
                    told += left_out
                    self._write(f"evenpace: {say('say-left-out', self._lang, count=left_out)}")
        except OSError:
            self._output = None  # nobody reads us any more
            self._drain()

    def _drain(self) -> None:
        while self._lines.get() is not None:
            continue

    def _write(self, line: str) -> None:
        if self._output is None:
            return
        data = memoryview(f"{line}\n".encode(self._encoding, "backslashreplace"))
        while data:
            data = data[os.write(self._output, data) :]


def _descriptor(stream: TextIO | None) -> int | None:
    try:
        return stream.fileno() if stream is not None else None
    except (OSError, ValueError):
        return None
