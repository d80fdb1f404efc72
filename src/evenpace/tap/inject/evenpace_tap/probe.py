"""A worker pauses at a step that was announced to all, does what the controller asks, and trains on.

The announcement is PATH.probe beside the ring; the controller's end is a Unix socket, JSON lines both ways.
Whatever goes wrong, training goes on: nothing here raises, and a pause has a limit that holds without the
controller. Process groups, devices and random numbers of the training are left alone.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Mapping
from typing import Any

from . import address, arithmetic, layout, transfer
from .patience import Patience
from .ring import Ring

LONGEST = 10.0  # seconds that a pause can last, whatever the controller says
_SILENCE = 5.0  # seconds without a word of the controller, after which it is taken for gone
_MOST_BYTES = 1 << 20  # of a word of the controller
_ANNOUNCEMENT_BYTES = 4096
_ADDRESS_SECONDS = 0.5


class Pauses:
    """Looks after every optimizer step whether this is the one to pause at."""

    def __init__(self, ring: Ring) -> None:
        self._ring = ring
        self._path = ring.path.removesuffix(layout.RING_SUFFIX) + layout.PROBE_SUFFIX
        self._address = ""
        self._found = threading.Event()
        self._asked = False

    def after_step(self, step: int) -> None:
        """Pause if this step was announced. Costs one look for a file (0.3 us) where none is."""
        if os.access(self._path, os.F_OK):
            try:
                self._announced(step)
            except Exception:  # the controller notices by itself: no word came back
                return

    def _announced(self, step: int) -> None:
        if not self._asked:  # some steps ahead: looking up a name can take long
            self._asked = True
            threading.Thread(target=self._find_address, name="evenpace-address", daemon=True).start()
        with open(self._path, "rb", opener=_at_once) as file:
            told = json.loads(file.read(_ANNOUNCEMENT_BYTES))
        if told["step"] == step:
            self._pause(str(told["socket"]), int(told["version"]), step)

    def _find_address(self) -> None:
        try:
            self._address = address.own_address()
        finally:
            self._found.set()

    def _pause(self, path: str, version: int, step: int) -> None:
        patience = Patience(LONGEST)
        with _connected(path, patience) as controller:
            self._found.wait(_ADDRESS_SECONDS)
            listener = _listening(self._address)
            try:
                _say(controller, self._hello(version, step, listener), patience)
                self._converse(controller, listener, patience)
            finally:
                if listener is not None:
                    listener.close()

    def _hello(self, version: int, step: int, listener: socket.socket | None) -> dict[str, Any]:
        return {
            "version": version,
            "rank": self._ring.get("rank"),
            "step": step,
            "host": address.host(),
            "address": listener.getsockname()[:2] if listener is not None else None,
            "hardware": arithmetic.hardware(),
            "at_once": arithmetic.at_once(),
        }

    def _converse(
        self, controller: socket.socket, listener: socket.socket | None, patience: Patience
    ) -> None:
        words, measuring = _Words(controller), arithmetic.Arithmetic()
        while (command := words.next(patience))["do"] != "go on":
            try:
                if command["do"] == "compute":
                    answer = measuring.measure(patience)
                else:
                    answer = {"transfers": self._transfers(command["transfers"], listener, patience)}
            except (OSError, RuntimeError) as error:  # RuntimeError: what torch raises
                answer = {"error": repr(error)[:500]}
            _say(controller, {"of": command["of"], **answer}, patience)

    def _transfers(
        self, asked: list[Mapping[str, Any]], listener: socket.socket | None, patience: Patience
    ) -> list[dict[str, Any]]:
        rank, done = self._ring.get("rank"), []
        for one in asked:
            if one["source"] == rank:
                done.append(transfer.send(one, patience))
            elif one["target"] == rank and listener is not None:
                done.append(transfer.receive(listener, one, patience))
        return done


class _Words:
    """The controller's words, one JSON object a line."""

    def __init__(self, controller: socket.socket) -> None:
        self._controller = controller
        self._rest = b""

    def next(self, patience: Patience) -> dict[str, Any]:
        """Return the next one. Raises an OSError where it does not come, a ValueError where it is none."""
        waiting = Patience(patience.left(_SILENCE))
        while b"\n" not in self._rest:
            self._controller.settimeout(waiting.left())
            got = self._controller.recv(65536)
            if not got or len(self._rest) > _MOST_BYTES:
                raise ConnectionError("the controller is gone")
            self._rest += got
        line, _, self._rest = self._rest.partition(b"\n")
        word = json.loads(line)
        if not isinstance(word, dict):
            raise ValueError("not an object")
        return word


def _at_once(path: str, flags: int) -> int:
    """Open without waiting for anybody, whatever kind of file it is."""
    return os.open(path, flags | os.O_NONBLOCK)


def _connected(path: str, patience: Patience) -> socket.socket:
    """Connect to a Unix socket, however long its path is (a socket address holds 107 bytes)."""
    folder = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)  # noqa: PTH120
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(patience.left(1.0))
        connection.connect(f"/proc/self/fd/{folder}/{os.path.basename(path)}")  # noqa: PTH119
    except BaseException:
        connection.close()
        raise
    finally:
        os.close(folder)
    return connection


def _listening(own: str) -> socket.socket | None:
    try:
        return transfer.listen(own) if own else None
    except OSError:
        return None


def _say(controller: socket.socket, word: Mapping[str, Any], patience: Patience) -> None:
    controller.settimeout(patience.left(1.0))
    controller.sendall(json.dumps(word).encode() + b"\n")
