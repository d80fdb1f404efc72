"""An accelerator that is not there: a micro-batch takes as long as asked, or longer where it is made slow."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the simulated accelerator."""
    parser.add_argument("--compute-ms", type=float, default=0.0, help="simulated, a micro-batch")
    parser.add_argument(
        "--slow-file",
        type=Path,
        help='JSON {"RANK": FACTOR}: who is slower; read as it changes',
    )


class Accelerator:
    """What `rank` computes on; it sleeps for what is left of `milliseconds` after the real work."""

    def __init__(self, milliseconds: float, slow_file: Path | None, rank: int) -> None:
        self.seconds, self.slow_file, self.rank = milliseconds / 1000, slow_file, rank
        self.factor, self.changed = 1.0, 0

    def compute(self, began: float) -> None:
        """Return when what began at `began` (time.perf_counter) would be computed."""
        if self.seconds:
            self._look()
            time.sleep(max(0.0, began + self.factor * self.seconds - time.perf_counter()))

    def _look(self) -> None:
        try:
            changed = self.slow_file.stat().st_mtime_ns if self.slow_file else 0
            if changed != self.changed:
                self.factor = float(json.loads(self.slow_file.read_text()).get(str(self.rank), 1.0))
                self.changed = changed
        except (OSError, ValueError):
            return
