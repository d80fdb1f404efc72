"""Batch scripts of large jobs, as far as their #SBATCH lines tell the size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.model import Script
from evenpace.collect.slurm.shell import directives

_GPUS = ("gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket")


def large(slurm: Slurm) -> Iterator[tuple[Script, Mapping[str, str]]]:
    """Yield the batch scripts that ask for GPUs on several nodes, with their options."""
    for script in slurm.scripts:
        if script.role == "job":
            options = directives(script.text)
            if nodes(options) > 1 and with_gpus(options):
                yield script, options


def nodes(options: Mapping[str, str]) -> int:
    """Return the least number of nodes that is asked for (`2-4` → 2); 0 where the options do not tell."""
    count = options.get("nodes", "").partition("-")[0]
    return int(count) if count.isascii() and count.isdigit() and len(count) < 7 else 0


def with_gpus(options: Mapping[str, str]) -> bool:
    """Tell whether GPUs are asked for."""
    return "gpu" in options.get("gres", "") or any(options.get(name) not in (None, "0") for name in _GPUS)


def gpus(options: Mapping[str, str]) -> int:
    """Return how many GPUs are asked for in all; 0 where the options do not tell."""
    total = _number(options.get("gpus", ""))
    each = _number(options.get("gpus-per-node", "")) or _number(options.get("gres", ""))
    return total or each * nodes(options)


def _number(written: str) -> int:
    """Return 8 of `8`, `h200:8` or `gpu:h200:8`; 0 for other texts."""
    count = written.rpartition(":")[2]
    return int(count) if count.isascii() and count.isdigit() and len(count) < 7 else 0
