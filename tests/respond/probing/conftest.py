"""Workers in threads of this process: the tap's own pauses, with a torch that only says how fast it is."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evenpace.respond.probing import ProbeRequest, Probing
from evenpace.tap.inject.evenpace_tap import arithmetic, layout, probe
from evenpace.tap.inject.evenpace_tap.ring import Ring
from evenpace.watch.events import Probed

SECONDS = 0.01  # that a product takes on a healthy worker
PATIENCE = 60.0


class Worker:
    """One rank that makes steps for ever; `slow` is its factor, `absent` keeps it from all pauses."""

    def __init__(self, folder: Path, rank: int) -> None:
        self.ring = Ring(str(folder / f"node{rank}.{rank}.ring"), f"node{rank}", layout.TAP_PYTHON)
        self.ring.set(rank=rank)
        self.path = Path(self.ring.path)
        self.slow, self.wrong, self.absent, self.stopped = 1.0, 0, False, False
        self.steps = 0
        self._pauses = probe.Pauses(self.ring)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._train, args=(rank,), daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _train(self, rank: int) -> None:
        _HERE.worker = self
        while not self._over.wait(0.002):
            if self.stopped:
                continue
            self.steps += 1
            self.ring.set(optimizer_steps=self.steps)
            if not self.absent:
                self._pauses.after_step(self.steps)

    def end(self) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(20)


_HERE = threading.local()


class Arithmetic:
    """Takes as long as the worker of this thread says."""

    def measure(self, patience: object) -> dict[str, Any]:
        worker: Worker = _HERE.worker
        return {"times": {"float32": SECONDS * worker.slow}, "wrong": worker.wrong}


class Job:
    """Workers that train, and what measures them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workers: list[Worker] = []

    def train(self, ranks: int) -> list[Worker]:
        self.workers = [Worker(self.folder, rank) for rank in range(ranks)]
        for worker in self.workers:
            worker.start()
        self.go_on()
        return self.workers

    def go_on(self) -> None:
        """Wait until every worker that can has made another step."""
        before = [worker.steps for worker in self.workers]
        end = time.monotonic() + PATIENCE
        for worker, steps in zip(self.workers, before, strict=True):
            while not worker.stopped and worker.steps == steps:
                assert time.monotonic() < end, "the training stands still"
                time.sleep(0.001)

    def probing(self, **more: Any) -> Probing:
        return Probing({rank: one.path for rank, one in enumerate(self.workers)}, self.folder, **more)

    def end(self) -> None:
        for worker in self.workers:
            worker.end()


def outcome(probing: Probing, request: ProbeRequest) -> Probed:
    """Measure once."""
    assert probing.start(request)
    end = time.monotonic() + PATIENCE
    while (told := probing.poll()) is None:
        assert time.monotonic() < end, "no outcome"
        time.sleep(0.005)
    return told


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Job]:
    """Return a job whose training goes on after the test, which is checked."""
    cuda = SimpleNamespace(is_available=lambda: False, is_initialized=lambda: False)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda, get_num_threads=lambda: 1))
    monkeypatch.setattr(arithmetic, "Arithmetic", Arithmetic)
    monkeypatch.setattr(probe.address, "own_address", lambda: "127.0.0.1")
    made = Job(tmp_path)
    yield made
    made.go_on()
    made.end()
    assert not [*tmp_path.glob("*.sock"), *tmp_path.glob("*.probe"), *tmp_path.glob("*.new")]


@pytest.fixture
def measure() -> Callable[[Probing, ProbeRequest], Probed]:
    """Return what measures once and waits for the outcome."""
    return outcome
