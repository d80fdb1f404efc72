"""A stream over one link, by a TCP connection of our own between two paused workers.

The target measures: the sender's own buffers would make a slow link look fast. It receives for a given time,
in windows; the first is for TCP to get up to speed, the best of the others stands: what keeps a worker from
its core for a moment is no property of the link.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from .patience import Patience

_WINDOWS = 4
_CHUNK = 1 << 20
_TO_MEET = 1.0  # seconds until both ends must have found each other
_NO_LINGER = struct.pack("ii", 1, 0)  # what is not sent yet is dropped, and disturbs no later pass


def listen(address: str) -> socket.socket:
    """Return a socket that listens on a free port of that address."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.bind((address, 0))
        listener.listen(8)
    except OSError:
        listener.close()
        raise
    return listener


def send(transfer: Mapping[str, Any], patience: Patience) -> dict[str, Any]:
    """Send until the target hangs up because its time is over."""
    host, port = transfer["address"]
    socket.getaddrinfo(str(host), int(port), flags=socket.AI_NUMERICHOST)  # a name could take long to look up
    chunk = bytes(_CHUNK)
    patience = Patience(patience.left(float(transfer["seconds"]) + _TO_MEET))
    with socket.create_connection((str(host), int(port)), patience.left(_TO_MEET)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        connection.sendall(bytes.fromhex(transfer["token"]))
        with suppress(ConnectionError):
            while True:
                connection.settimeout(patience.left())
                connection.send(chunk)
    return {}


def receive(listener: socket.socket, transfer: Mapping[str, Any], patience: Patience) -> dict[str, Any]:
    """Receive for the seconds that the transfer takes; return how many bytes came in how many seconds."""
    with _accept(listener, bytes.fromhex(transfer["token"]), patience) as connection:
        seconds = patience.left(float(transfer["seconds"])) / _WINDOWS
        windows = [_drain(connection, seconds) for _ in range(_WINDOWS)][1:]
    received, took = max(windows, key=lambda window: window[0] / window[1])
    return {"received": received, "seconds": took}


def _drain(connection: socket.socket, seconds: float) -> tuple[int, float]:
    chunk, received, began = bytearray(_CHUNK), 0, time.monotonic()
    now, end = began, began + seconds
    with suppress(TimeoutError):
        while now < end:
            connection.settimeout(end - now)
            got = connection.recv_into(chunk)
            if not got:
                raise ConnectionError("the source has hung up")
            received += got
            now = time.monotonic()
    return received, time.monotonic() - began


def _accept(listener: socket.socket, token: bytes, patience: Patience) -> socket.socket:
    """Return the connection that knows the token; others are closed."""
    patience = Patience(patience.left(_TO_MEET))
    while True:
        listener.settimeout(patience.left())
        connection, _ = listener.accept()
        try:
            if _knows(connection, token, Patience(patience.left(0.5))):
                return connection
        except OSError:
            pass
        connection.close()


def _knows(connection: socket.socket, token: bytes, patience: Patience) -> bool:
    said = b""
    while len(said) < len(token):
        connection.settimeout(patience.left())
        got = connection.recv(len(token) - len(said))
        if not got:
            return False
        said += got
    return said == token
