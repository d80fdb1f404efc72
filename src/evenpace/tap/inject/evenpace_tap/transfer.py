"""One message over one link, by a TCP connection of our own between two paused workers.

The target measures: the sender's own buffers would make a slow link look fast. The message is counted in
slices; the first is for TCP to get up to speed, the median of the others is what stands.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Mapping
from contextlib import suppress
from itertools import pairwise
from statistics import median
from typing import Any

from .patience import Patience

_SLICES = 9
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
    """Send until all is sent, or the target hangs up because its time is over."""
    host, port = transfer["address"]
    left, chunk = int(transfer["bytes"]), memoryview(bytes(_CHUNK))
    patience = Patience(patience.left(float(transfer["seconds"]) + _TO_MEET))
    with socket.create_connection((str(host), int(port)), patience.left(_TO_MEET)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        connection.sendall(bytes.fromhex(transfer["token"]))
        with suppress(ConnectionError):
            while left > 0:
                connection.settimeout(patience.left())
                left -= connection.send(chunk[:left])
            connection.settimeout(patience.left())
            connection.recv(1)  # the target hangs up
    return {"unsent": left}


def receive(listener: socket.socket, transfer: Mapping[str, Any], patience: Patience) -> dict[str, Any]:
    """Receive for at most the seconds that the transfer may take; return bytes and seconds for all of it."""
    most = int(transfer["bytes"])
    with _accept(listener, bytes.fromhex(transfer["token"]), patience) as connection:
        marks = _marks(connection, most, float(transfer["seconds"]), patience)
    return {"received": marks[-1][1], "seconds": seconds_for(most, marks)}


def seconds_for(most: int, marks: list[tuple[float, int]]) -> float | None:
    """Return what `most` bytes take, given when how many were there; None where nothing came."""
    (began, _), (ended, received) = marks[0], marks[-1]
    size = most // _SLICES
    slices = [later[0] - earlier[0] for earlier, later in pairwise(marks[1:])]
    whole = [one for one, mark in zip(slices, marks[2:], strict=True) if mark[1] % size == 0]
    if len(whole) >= 3:
        return median(whole) * _SLICES
    return (ended - began) * most / received if received else None


def _marks(
    connection: socket.socket, most: int, seconds: float, patience: Patience
) -> list[tuple[float, int]]:
    """Note the time at the beginning, whenever another slice is whole, and at the end."""
    chunk, received, began = bytearray(_CHUNK), 0, time.monotonic()
    size = most // _SLICES
    marks = [(began, 0)]
    limit = Patience(min(seconds, patience.left()))
    with suppress(TimeoutError, ConnectionError):
        while received < most:
            connection.settimeout(limit.left())
            wanted = min(size - received % size, _CHUNK, most - received)
            got = connection.recv_into(memoryview(chunk)[:wanted])
            if not got:
                break
            received += got
            if received % size == 0:
                marks.append((time.monotonic(), received))
    if marks[-1][1] != received or received == 0:
        marks.append((time.monotonic(), received))
    return marks


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
