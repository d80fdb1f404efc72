"""Where paused workers and the controller talk: a Unix socket, JSON lines, a deadline on everything."""

from __future__ import annotations

import json
import os
import selectors
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_MOST_LINE = 1 << 20  # bytes of a worker's word
_MOST_GUESTS = 1 << 16
_TICK = 0.05  # seconds between two looks at what else may end the waiting
_SEND_SECONDS = 0.5
LONGEST = 8.0  # seconds from the first hello, after which nobody is waited for: workers leave after 10

Word = dict[str, Any]


class Cancelled(Exception):
    """Nobody waits for the outcome any more."""


@dataclass(slots=True, eq=False)
class _Guest:
    connection: socket.socket
    rest: bytes = b""
    words: list[Word] = field(default_factory=list)


class Meeting:
    """Workers by rank, once they have said hello. Raises OSError where there can be no socket.

    Leaving it tells all to go on, whatever happened.
    """

    def __init__(self, path: Path, cancelled: threading.Event) -> None:
        self.path = path
        self.first: float | None = None  # monotonic seconds, when the first worker came
        self.pause = 0.0  # seconds from then until all were told to go on
        self.hellos: dict[int, Word] = {}
        self._cancelled = cancelled
        self._guests: dict[int, _Guest] = {}
        self._strangers: set[_Guest] = set()
        self._selector = selectors.DefaultSelector()
        self._server = _server(path)
        self._selector.register(self._server, selectors.EVENT_READ, None)
        self._asked = 0

    def __enter__(self) -> Meeting:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self.path.unlink(missing_ok=True)
        self._selector.unregister(self._server)
        self._server.close()  # who comes now is refused, and goes on
        for guest in [*self._guests.values(), *self._strangers]:
            _tell(guest, {"do": "go on"})
            guest.connection.close()
        self._selector.close()
        self.pause = self.lasted

    def until(self, over: Callable[[], bool], seconds: float) -> bool:
        """Listen until something is so, at most so long; tell whether it is. Raises Cancelled."""
        end = time.monotonic() + seconds
        while not over():
            end = min(end, self.first + LONGEST) if self.first is not None else end
            if self._cancelled.is_set():
                raise Cancelled
            left = end - time.monotonic()
            if left <= 0:
                return False
            for key, _ in self._selector.select(min(left, _TICK)):
                self._hear(key.data)
        return True

    def ask(self, words: Mapping[int, Word], seconds: float) -> dict[int, Word]:
        """Ask some workers something each; return the answers that came in time. Raises Cancelled.

        Who does not answer in time is not waited for again.
        """
        self._asked += 1
        asked = self._asked
        there = [rank for rank in words if rank in self._guests]
        for rank in there:
            _tell(self._guests[rank], {**words[rank], "of": asked})
        answers: dict[int, Word] = {}

        def complete() -> bool:
            for rank in there:
                guest = self._guests.get(rank)
                for word in guest.words if guest else ():
                    if word.get("of") == asked:
                        answers[rank] = word
            return all(rank in answers or rank not in self._guests for rank in there)

        if not self.until(complete, seconds):
            for rank in set(there) & self.present - set(answers):
                self._part(self._guests[rank])
        return answers

    def _hear(self, guest: _Guest | None) -> None:
        if guest is None:
            self._welcome()
            return
        try:
            got = guest.connection.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            got = b""
        guest.rest += got
        if not got or len(guest.rest) > _MOST_LINE or not self._understood(guest):
            self._part(guest)

    def _welcome(self) -> None:
        try:
            connection, _ = self._server.accept()
        except OSError:
            return
        if len(self._guests) + len(self._strangers) >= _MOST_GUESTS:
            connection.close()
            return
        connection.settimeout(_SEND_SECONDS)
        guest = _Guest(connection)
        self._strangers.add(guest)
        self._selector.register(connection, selectors.EVENT_READ, guest)

    def _understood(self, guest: _Guest) -> bool:
        """Take whole lines; tell whether each was an object, and the first of all a hello."""
        *lines, guest.rest = guest.rest.split(b"\n")
        for line in lines:
            try:
                word = json.loads(line)
            except (ValueError, RecursionError):
                return False
            if not isinstance(word, dict):
                return False
            if guest in self._strangers:
                if not self._greeted(guest, word):
                    return False
            else:
                guest.words = [*guest.words[-3:], word]
        return True

    def _greeted(self, guest: _Guest, word: Word) -> bool:
        rank = word.get("rank")
        if not isinstance(rank, int) or rank in self._guests:
            return False
        self._strangers.remove(guest)
        self._guests[rank], self.hellos[rank] = guest, word
        self.first = self.first if self.first is not None else time.monotonic()
        return True

    def _part(self, guest: _Guest) -> None:
        self._selector.unregister(guest.connection)
        guest.connection.close()
        self._strangers.discard(guest)
        self._guests = {rank: one for rank, one in self._guests.items() if one is not guest}

    @property
    def lasted(self) -> float:
        """Return the seconds since the first hello."""
        return time.monotonic() - self.first if self.first is not None else 0.0

    @property
    def present(self) -> set[int]:
        """Return the ranks that are here."""
        return set(self._guests)


def _server(path: Path) -> socket.socket:
    """Listen at a path, however long it is (a socket address holds 107 bytes)."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        path.unlink(missing_ok=True)
        server.bind(f"/proc/self/fd/{folder}/{path.name}")
        server.listen(1024)
        server.setblocking(False)
    except OSError:
        server.close()
        raise
    finally:
        os.close(folder)
    return server


def _tell(guest: _Guest, word: Word) -> None:
    with suppress(OSError):  # it is gone, or does not listen
        guest.connection.sendall(json.dumps(word).encode() + b"\n")
