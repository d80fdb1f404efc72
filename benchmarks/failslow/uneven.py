"""A training of examples/train_uneven_*.py under the tap; plans are announced as the controller does it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenpace.collect.job.rings import RingError, RingHeader, RingReader
from evenpace.tap.environment import environment
from evenpace.tap.inject.evenpace_tap import layout

ROOT = Path(__file__).parent.parent.parent
DEADLINE = 120.0  # seconds for a step to come
STEP = re.compile(r"^step (\d+) .* time ([\d.]+) ms$", re.MULTILINE)


class Uneven:
    """Run `script` with arguments on `ranks` ranks; it is ended on exit, where it has not ended by itself."""

    def __init__(
        self, script: str, ranks: int, arguments: list[str], variables: Mapping[str, str] | None = None
    ) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="evenpace-bench-", ignore_cleanup_errors=True)
        self.home = Path(self._temporary.name)
        self.ranks, self._version, self._headers = ranks, 0, dict[int, RingReader]()
        self.slow({})
        rings = self.home / "rings"
        rings.mkdir()
        job = [str(ROOT / "benchmarks" / "forkrun.py"), str(ranks), str(ROOT / "examples" / script)]
        common = [f"--slow-file={self.home}/slow.json", f"--checkpoint-dir={self.home}"]
        self._said = self.home / "said.txt"
        with self._said.open("wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, *job, *common, f"--ids-log={self.home}/ids", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                env=environment(rings, "node", "bench", 0, variables_of(variables)).env,
            )

    def __enter__(self) -> Uneven:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(DEADLINE)
        self._temporary.cleanup()

    def headers(self) -> list[RingHeader]:
        """Return the header of each rank, once all have joined."""
        self._until(self._joined, "all ranks to join")
        return [self._headers[rank].header() for rank in range(self.ranks)]

    def step(self) -> int:
        """Return how many steps have begun."""
        return self.headers()[0].loop_step

    def wait_step(self, step: int) -> None:
        """Wait until so many have begun."""
        self._until(lambda: self.step() >= step, f"step {step}")

    def slow(self, factors: dict[int, float]) -> None:
        """Make ranks compute so many times slower, all others at full speed."""
        _put(self.home / "slow.json", {str(rank): factor for rank, factor in factors.items()})

    def announce(self, numbers: list[int], key: str = "counts") -> None:
        """Announce a plan, and wait until it is in force everywhere."""
        self.headers()
        self._version += 1
        plan = self._headers[0].path.with_suffix(layout.PLAN_SUFFIX)
        _put(plan, {"version": self._version, key: numbers})
        self._until(lambda: all(one.plan_version == self._version for one in self.headers()), "a plan")

    def micro_batches(self) -> NDArray[np.float64]:
        """Return the seconds of each rank's micro-batch, as its loop says."""
        return np.array([header.micro_batch_ns for header in self.headers()]) / 1e9

    def seconds(self) -> dict[int, float]:
        """Return the seconds of each step that has ended, by its number (from 0)."""
        return {int(step): float(time) / 1000 for step, time in STEP.findall(self._said.read_text())}

    def finish(self) -> None:
        """Wait for the end of the training; raises RuntimeError where it failed."""
        if self.process.wait(DEADLINE):
            raise RuntimeError(self._said.read_text()[-2000:])

    def ids(self) -> dict[int, list[int]]:
        """Return the samples of each step, over all ranks, in order."""
        used: dict[int, list[int]] = {}
        for path in (self.home / "ids").iterdir():
            for line in map(json.loads, path.read_text().splitlines()):
                used.setdefault(line["step"], []).extend(line.get("ids", ()))
        return {step: sorted(ids) for step, ids in used.items()}

    def _joined(self) -> bool:
        for path in (self.home / "rings").glob("*.ring") if len(self._headers) < self.ranks else ():
            try:
                reader = RingReader(path)
                rank = reader.header().rank
            except RingError:
                continue
            if rank >= 0:
                self._headers[rank] = reader
        return len(self._headers) == self.ranks

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + DEADLINE
        while not condition():
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise RuntimeError(f"waited for {what} in vain: {self._said.read_text()[-2000:]}")
            time.sleep(0.02)


def variables_of(more: Mapping[str, str] | None) -> dict[str, str]:
    """Return the environment of a training."""
    return {**os.environ, "OMP_NUM_THREADS": "1", **(more or {})}


def _put(path: Path, content: object) -> None:
    aside = path.with_name(f"{path.name}.new")
    aside.write_text(json.dumps(content))
    aside.rename(path)
