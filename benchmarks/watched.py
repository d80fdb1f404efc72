"""A watched training for the benches: real `evenpace run`, unmodified script, ranks forked on one machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from evenpace.demo.follow import Follower
from evenpace.watch.events import FindingRaised, Iteration, WorkerJoined, seconds

ROOT = Path(__file__).parent.parent
RANKS = 4


class Watched:
    """Run `script` (a file of examples/) with arguments on `ranks` ranks, each on its own emulated node."""

    def __init__(
        self,
        script: str,
        arguments: list[str],
        environment: Mapping[str, str] | None = None,
        ranks: int = RANKS,
        policy: str = "observe",
    ) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="evenpace-bench-", ignore_cleanup_errors=True)
        self.home = Path(self._temporary.name)
        self.folder = self.home / "run"
        job = [
            sys.executable,
            str(ROOT / "benchmarks" / "forkrun.py"),
            str(ranks),
            str(ROOT / "examples" / script),
        ]
        ours = [f"--run-dir={self.folder}", f"--policy={policy}", "--quiet"]
        command = [sys.executable, "-m", "evenpace", "run", *ours, "--", *job]
        self.said = (self.home / "said.txt").open("wb")
        self.process = subprocess.Popen(
            [*command, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=self.said,
            stderr=subprocess.STDOUT,
            env={**os.environ, "OMP_NUM_THREADS": "1", **(environment or {})},
            start_new_session=True,
        )
        self.run = Follower(self.folder / "events.jsonl", lambda: self.process.poll() is None)

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *_: object) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.process.poll() is None:
                self.process.send_signal(number)
                self.wait(15)
        self.said.close()
        self._temporary.cleanup()

    def wait(self, deadline: float) -> None:
        """Wait for the end of the run, at most `deadline` seconds."""
        try:
            self.process.wait(deadline)
        except subprocess.TimeoutExpired:
            return

    def worker(self, rank: int) -> WorkerJoined:
        """Return the worker of a rank, once it has joined."""
        return self.run.wait(WorkerJoined, f"rank {rank}", 60, lambda event: event.rank == rank)

    def iterations(self) -> list[Iteration]:
        """Return the iterations so far."""
        self.run.read()
        return [event for event in self.run.events if isinstance(event, Iteration)]

    def more_iterations(self, count: int, deadline: float = 60) -> None:
        """Wait until the job has made so many more iterations."""
        goal = len(self.iterations()) + count
        self.run.wait(
            Iteration, f"{count} more iterations", deadline, lambda _: len(self.iterations()) >= goal
        )

    def findings(self, since: float, until: float = float("inf")) -> list[FindingRaised]:
        """Return what was said between two times (epoch seconds), as it was said."""
        self.run.read()
        return [
            event
            for event in self.run.events
            if isinstance(event, FindingRaised) and since <= seconds(event.time) <= until
        ]

    def pause(self, duration: float) -> None:
        """Let the run go on for a while, or to its end."""
        end = time.monotonic() + duration
        while self.process.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
