"""Many workers for the bench of validation: processes with the tap's own pauses, but neither torch nor a job.

Their transfers over loopback are real, the arithmetic is simulated: every product takes as long.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

from evenpace.respond.probing import Probing
from evenpace.tap.inject.evenpace_tap import arithmetic, layout, probe
from evenpace.tap.inject.evenpace_tap.ring import Ring

STEP_SECONDS = 0.1
PRODUCT_SECONDS = 0.01


class Many:
    """So many workers, each a process that makes a step every STEP_SECONDS, as long as this context lasts."""

    def __init__(self, count: int) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="evenpace-bench-", ignore_cleanup_errors=True)
        self._folder = Path(self._temporary.name)
        self._pids: list[int] = []
        self._paths: dict[int, Path] = {}
        for rank in range(count):
            ring = Ring(str(self._folder / f"node{rank}.{rank}.ring"), f"node{rank}", layout.TAP_PYTHON)
            ring.set(rank=rank, optimizer_steps=1)
            self._paths[rank] = Path(ring.path)
            self._pids.append(_fork(ring))

    def __enter__(self) -> Many:
        return self

    def __exit__(self, *_: object) -> None:
        for pid in self._pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        self._temporary.cleanup()

    def probing(self) -> Probing:
        """Return what measures them."""
        return Probing(self._paths, self._folder)


class _Simulated:
    def measure(self, _: object) -> dict[str, object]:
        """Take as long as a product does on a healthy worker."""
        time.sleep(PRODUCT_SECONDS)
        return {"times": {"float32": PRODUCT_SECONDS}, "wrong": 0}


def _fork(ring: Ring) -> int:
    pid = os.fork()
    if pid:
        return pid
    cuda = SimpleNamespace(is_available=lambda: False, is_initialized=lambda: False)
    sys.modules["torch"] = SimpleNamespace(cuda=cuda, get_num_threads=lambda: 1)  # type: ignore[assignment]
    arithmetic.Arithmetic = _Simulated  # type: ignore[assignment,misc]
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    pauses, step = probe.Pauses(ring), 1
    while True:
        time.sleep(STEP_SECONDS)
        step += 1
        ring.set(optimizer_steps=step)
        pauses.after_step(step)
