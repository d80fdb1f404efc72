"""What was injected into a run, and when: `faults.jsonl` in the run's folder. Standard library only."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

NAME = "faults.jsonl"


def enter(run: str | os.PathLike[str] | None, fault: str, rank: int, what: str = "injected") -> None:
    """Append one line, in one write; without a run, or where it cannot be written, do nothing."""
    if not run:
        return
    line = json.dumps({"fault": fault, "rank": rank, "what": what, "time": time.time()}) + "\n"
    try:
        descriptor = os.open(os.path.join(run, NAME), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)  # noqa: PTH118
    except OSError:
        return
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


def read(run: Path) -> list[dict[str, object]]:
    """Return the entries of a run, oldest first; none where nothing was injected."""
    path = run / NAME
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
