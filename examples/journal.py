"""Options that the training scripts share, and what they write down about each step."""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path


def options(description: str) -> argparse.ArgumentParser:
    """Return the options that all scripts have."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=16, help="samples a step, over all workers")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--length", type=int, default=32, help="tokens a sample")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checkpoint-dir", type=Path)
    parser.add_argument("--checkpoint-every", type=int, default=20, help="steps")
    parser.add_argument("--read-ms", type=float, default=0.0, help="simulated storage read per batch")
    parser.add_argument(
        "--ids-log", type=Path, help="folder for the ids of the samples used, a file per rank"
    )
    parser.add_argument("--timings", help="write the step times of rank R to TIMINGS.R.json at the end")
    return parser


class Journal:
    """Print steps, log the ids of their samples, and keep their times."""

    def __init__(self, rank: int, first_step: int, ids_log: Path | None, timings: str | None) -> None:
        self.rank, self.timings = rank, timings
        self.steps: list[dict[str, float]] = []
        self.ids = None
        self.loss: float | None = None
        if ids_log:
            ids_log.mkdir(parents=True, exist_ok=True)
            self.ids = (ids_log / f"rank{rank}.jsonl").open("a")
            self._log({"started": time.time(), "step": first_step})
        self.began = time.perf_counter()

    def step(self, step: int, ids: list[int], loss: float | None) -> None:
        """Note a finished step; `loss` is None where this rank does not know it."""
        now = time.perf_counter()
        seconds, self.began, self.loss = now - self.began, now, loss
        self.steps.append({"step": step, "seconds": seconds})
        self._log({"step": step, "ids": ids})
        if loss is not None:
            print(f"step {step} loss {loss:.6f} time {1000 * seconds:.1f} ms", flush=True)

    def close(self) -> None:
        """Print the last loss and write the times."""
        if self.loss is not None:
            print(f"final loss {self.loss:.8f}", flush=True)
        if self.timings:
            Path(f"{self.timings}.{self.rank}.json").write_text(json.dumps(self.steps))

    def _log(self, line: dict[str, object]) -> None:
        if self.ids:
            self.ids.write(json.dumps(line) + "\n")
            self.ids.flush()
            os.fsync(self.ids.fileno())
