"""A worker's pause: whatever the controller does or fails to do, the worker trains on. No torch here."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evenpace.tap.inject.evenpace_tap import arithmetic, layout, probe
from evenpace.tap.inject.evenpace_tap.ring import Ring

STEP = 7


class Controller:
    """The other end of the Unix socket, in a thread: does with the connection what a test wants."""

    def __init__(self, folder: Path, act: Callable[[socket.socket], None]) -> None:
        self.path = folder / "probe.sock"
        self.hello: dict[str, Any] = {}
        self._act = act
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(self.path))
        self._server.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        connection, _ = self._server.accept()
        with connection:
            self._act(connection)

    def close(self) -> None:
        self._server.close()
        self._thread.join(5)


def words(*said: object) -> Callable[[socket.socket], None]:
    """Hear the hello, say something, wait until the worker has left."""

    def act(connection: socket.socket) -> None:
        connection.recv(65536)
        for one in said:
            connection.sendall(one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n")
        while connection.recv(65536):
            pass

    return act


@pytest.fixture
def ring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ring:
    monkeypatch.setitem(sys.modules, "torch", fake_torch())
    monkeypatch.setattr(probe.address, "own_address", lambda: "127.0.0.1")
    made = Ring(str(tmp_path / "node.1.ring"), "node", layout.TAP_PYTHON)
    made.set(rank=3)
    return made


def fake_torch() -> Any:
    cuda = SimpleNamespace(is_available=lambda: False, is_initialized=lambda: False)
    return SimpleNamespace(cuda=cuda, get_num_threads=lambda: 1)


def announce(ring: Ring, socket_path: Path | str, step: int = STEP) -> Path:
    path = Path(ring.path).with_suffix(layout.PROBE_SUFFIX)
    path.write_text(json.dumps({"version": 1, "step": step, "socket": str(socket_path)}))
    return path


def took(ring: Ring, step: int = STEP) -> float:
    began = time.monotonic()
    probe.Pauses(ring).after_step(step)
    return time.monotonic() - began


def test_nothing_is_announced(ring: Ring) -> None:
    probe.Pauses(ring).after_step(STEP)


def test_says_hello_and_goes_on_when_told(ring: Ring, tmp_path: Path) -> None:
    heard: list[Any] = []

    def act(connection: socket.socket) -> None:
        heard.append(json.loads(connection.recv(65536)))
        connection.sendall(b'{"do": "go on"}\n')
        heard.append(connection.recv(1))

    controller = Controller(tmp_path, act)
    announce(ring, controller.path)
    probe.Pauses(ring).after_step(STEP)
    controller.close()
    hello, end = heard
    assert (hello["rank"], hello["step"], hello["version"], hello["at_once"] >= 1) == (3, STEP, 1, True)
    assert hello["address"][0] == "127.0.0.1"
    assert end == b""


@pytest.mark.parametrize("step", [STEP - 1, STEP + 1])
def test_pauses_at_no_other_step(
    ring: Ring, tmp_path: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    paused: list[int] = []
    monkeypatch.setattr(probe.Pauses, "_pause", lambda _self, _path, _version, at: paused.append(at))
    announce(ring, tmp_path / "nobody.sock")
    pauses = probe.Pauses(ring)
    pauses.after_step(step)
    assert paused == []
    pauses.after_step(STEP)
    assert paused == [STEP]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"garbage",
        b"[]",
        b'{"step": 7}',
        b'{"step": 7, "version": 1, "socket": 5}',
        b"\xff" * 99,
        b"[" * 9000,
    ],
)
def test_an_announcement_that_is_none(ring: Ring, text: bytes) -> None:
    announce(ring, "x").write_bytes(text)
    probe.Pauses(ring).after_step(STEP)


def test_an_announcement_that_is_a_folder(ring: Ring) -> None:
    Path(ring.path).with_suffix(layout.PROBE_SUFFIX).mkdir()
    probe.Pauses(ring).after_step(STEP)


def test_the_controller_is_gone_before(ring: Ring, tmp_path: Path) -> None:
    announce(ring, tmp_path / "nobody.sock")
    probe.Pauses(ring).after_step(STEP)
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(tmp_path / "dead.sock"))
    dead.close()
    announce(ring, tmp_path / "dead.sock")
    probe.Pauses(ring).after_step(STEP)


@pytest.mark.parametrize("act", [lambda _: None, lambda one: one.recv(65536)], ids=["at once", "after hello"])
def test_the_controller_leaves(ring: Ring, tmp_path: Path, act: Callable[[socket.socket], None]) -> None:
    controller = Controller(tmp_path, act)
    announce(ring, controller.path)
    probe.Pauses(ring).after_step(STEP)
    controller.close()


@pytest.mark.parametrize(
    "said",
    [
        b"garbage\n",
        b"[1]\n",
        b"{}\n",
        {"do": "dance", "of": 1},
        {"do": "links", "of": 1},
        {"do": "links", "of": 1, "transfers": 5},
        {"do": "links", "of": 1, "transfers": [{"source": 3}]},
        {"do": "links"},
        {"do": "compute", "of": 1},  # this torch cannot multiply
        b"[" * 100_000 + b"\n",
        b"\xff\xfe\n",
    ],
    ids=repr,
)
def test_the_controller_talks_nonsense(ring: Ring, tmp_path: Path, said: object) -> None:
    controller = Controller(tmp_path, words(said))
    announce(ring, controller.path)
    probe.Pauses(ring).after_step(STEP)
    controller.close()


def test_a_word_without_end(ring: Ring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_MOST_BYTES", 1000)

    def act(connection: socket.socket) -> None:
        try:
            while True:
                connection.sendall(b"x" * 65536)
        except OSError:
            return

    controller = Controller(tmp_path, act)
    announce(ring, controller.path)
    probe.Pauses(ring).after_step(STEP)
    controller.close()


def test_a_silent_controller_is_left(ring: Ring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_SILENCE", 0.05)
    controller = Controller(tmp_path, words())
    announce(ring, controller.path)
    assert took(ring) < probe.LONGEST / 2
    controller.close()


def test_a_pause_ends_though_the_controller_goes_on_talking(
    ring: Ring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "LONGEST", 0.3)

    def act(connection: socket.socket) -> None:
        try:
            while True:
                connection.sendall(b'{"do": "links", "of": 1, "transfers": []}\n')
                connection.recv(65536)
        except OSError:
            return

    controller = Controller(tmp_path, act)
    announce(ring, controller.path)
    assert took(ring) < 5
    controller.close()


def test_a_link_to_nowhere_is_said_to_be_none(ring: Ring, tmp_path: Path) -> None:
    answers: list[Any] = []
    transfer = {"source": 3, "target": 4, "address": ["127.0.0.1", 1], "token": "00", "seconds": 0.1}

    def act(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(json.dumps({"do": "links", "of": 5, "transfers": [transfer]}).encode() + b"\n")
        answers.append(json.loads(connection.recv(65536)))
        connection.sendall(b'{"do": "go on"}\n')

    controller = Controller(tmp_path, act)
    announce(ring, controller.path)
    probe.Pauses(ring).after_step(STEP)
    controller.close()
    assert answers[0]["of"] == 5
    assert "ConnectionRefused" in answers[0]["error"]


def test_the_path_of_the_socket_may_be_long(ring: Ring, tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 40)
    folder.mkdir()
    heard: list[bytes] = []

    def act(connection: socket.socket) -> None:
        heard.append(connection.recv(65536))
        connection.sendall(b'{"do": "go on"}\n')

    descriptor = os.open(folder, os.O_PATH)
    controller = Controller(Path(f"/proc/self/fd/{descriptor}"), act)
    announce(ring, folder / "probe.sock")
    probe.Pauses(ring).after_step(STEP)
    controller.close()
    os.close(descriptor)
    assert heard


def test_no_socket_can_be_made(ring: Ring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(24, "too many open files")

    announce(ring, tmp_path / "nobody.sock")
    monkeypatch.setattr(probe.socket, "socket", refuse)
    probe.Pauses(ring).after_step(STEP)


def test_without_an_address_there_is_no_listener(
    ring: Ring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe.address, "own_address", lambda: "203.0.113.1")  # not of this machine
    heard: list[Any] = []

    def act(connection: socket.socket) -> None:
        heard.append(json.loads(connection.recv(65536)))
        connection.sendall(b'{"do": "go on"}\n')

    controller = Controller(tmp_path, act)
    announce(ring, controller.path)
    probe.Pauses(ring).after_step(STEP)
    controller.close()
    assert heard[0]["address"] is None


def test_what_a_worker_runs_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", fake_torch())
    assert arithmetic.hardware() == "cpu, threads 1"
    assert arithmetic.at_once() == len(os.sched_getaffinity(0))


def test_an_announcement_that_is_no_file_is_not_waited_for(ring: Ring) -> None:
    os.mkfifo(Path(ring.path).with_suffix(layout.PROBE_SUFFIX))
    pausing = threading.Thread(target=probe.Pauses(ring).after_step, args=(STEP,), daemon=True)
    pausing.start()
    pausing.join(5)
    assert not pausing.is_alive()
