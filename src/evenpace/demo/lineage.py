"""Prove that nothing was lost: which samples the surviving weights were trained on, and the last loss."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Lineage:
    """Count how often the samples went into the final weights, and the steps that were trained again."""

    samples: int
    once: int
    repeated_steps: int

    @property
    def exact(self) -> bool:
        """Tell whether each sample was trained exactly once."""
        return self.samples == self.once


def effective(lines: Iterable[str]) -> tuple[dict[int, list[int]], int]:
    """Return (step → sample ids, steps trained again) of one rank's log.

    A line `started` says at which step a process went on: what an earlier one trained from there on is not in
    the weights.
    """
    steps: dict[int, list[int]] = {}
    again = 0
    for line in lines:
        entry = json.loads(line)
        if "started" in entry:
            dropped = [step for step in steps if step >= entry["step"]]
            again = max(again, len(dropped))
            for step in dropped:
                del steps[step]
        else:
            steps.setdefault(entry["step"], []).extend(entry["ids"])
    return steps, again


def trace(folder: Path, samples: int) -> Lineage:
    """Join the logs of all ranks (`rank*.jsonl`); sample ids are 0 to samples - 1."""
    seen: Counter[int] = Counter()
    repeated = 0
    for path in sorted(folder.glob("rank*.jsonl")):
        steps, again = effective(path.read_text().splitlines())
        repeated = max(repeated, again)
        seen.update(sample for ids in steps.values() for sample in ids)
    once = sum(seen[sample] == 1 for sample in range(samples))
    return Lineage(max(samples, len(seen)), once, repeated)


def final_loss(texts: Iterable[str]) -> float | None:
    """Return the loss that the script printed last, None where it did not come so far."""
    last = None
    for text in texts:
        for line in text.splitlines():
            _, found, value = line.partition("final loss ")
            last = float(value) if found else last
    return last
