"""A stream over one link: on loopback, with ends that fail."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from evenpace.tap.inject.evenpace_tap import transfer
from evenpace.tap.inject.evenpace_tap.patience import Patience

TOKEN = "00ff" * 8


@pytest.fixture
def listener() -> Any:
    with transfer.listen("127.0.0.1") as made:
        yield made


def asked(listener: socket.socket, seconds: float = 0.1) -> dict[str, Any]:
    return {"address": listener.getsockname()[:2], "token": TOKEN, "seconds": seconds}


def beside(act: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    return thread


def test_the_target_counts_what_came(listener: socket.socket) -> None:
    with ThreadPoolExecutor() as pool:
        sent = pool.submit(transfer.send, asked(listener), Patience(10))
        told = transfer.receive(listener, asked(listener), Patience(10))
        assert sent.result() == {}
    assert told["received"] > 0
    assert told["seconds"] > 0


def test_a_link_that_carries_nothing(listener: socket.socket) -> None:
    with socket.create_connection(listener.getsockname()) as silent:
        silent.sendall(bytes.fromhex(TOKEN))
        told = transfer.receive(listener, asked(listener), Patience(10))
    assert told["received"] == 0
    assert told["seconds"] > 0


def test_a_stranger_is_shown_out(listener: socket.socket) -> None:
    with socket.create_connection(listener.getsockname()) as stranger:
        stranger.sendall(b"x" * 100)
        thread = beside(lambda: transfer.send(asked(listener), Patience(10)))
        assert transfer.receive(listener, asked(listener), Patience(10))["received"] > 0
        thread.join(10)


def test_nobody_comes(listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "_TO_MEET", 0.01)
    with pytest.raises(TimeoutError):
        transfer.receive(listener, asked(listener), Patience(10))


def test_the_source_hangs_up(listener: socket.socket) -> None:
    with socket.create_connection(listener.getsockname()) as source:
        source.sendall(bytes.fromhex(TOKEN))
        source.shutdown(socket.SHUT_WR)
        with pytest.raises(ConnectionError):
            transfer.receive(listener, asked(listener), Patience(10))


def test_the_target_does_not_read(listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "_TO_MEET", 0.2)
    with pytest.raises(TimeoutError):
        transfer.send(asked(listener, 0.01), Patience(10))


def test_no_longer_than_the_pause(listener: socket.socket) -> None:
    with pytest.raises(TimeoutError):
        transfer.send(asked(listener, 100), Patience(0.05))


def test_there_is_no_such_address() -> None:
    with pytest.raises(OSError, match="assign"):
        transfer.listen("203.0.113.1")


def test_a_name_is_not_looked_up(listener: socket.socket) -> None:
    named = asked(listener) | {"address": ["localhost", listener.getsockname()[1]]}
    with pytest.raises(socket.gaierror):
        transfer.send(named, Patience(10))
