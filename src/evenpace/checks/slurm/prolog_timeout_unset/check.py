"""Judge whether a Prolog or Epilog that hangs is ended."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import CLUSTER, setting

UNSET = 65534.0  # what `scontrol show config` prints where no limit is set


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for a cluster with a Prolog or Epilog; since 25.05 each may have a limit of its own."""
    programs = [name for name in ("Prolog", "Epilog") if slurm.config.text(name)]
    hanging = [name for name in programs if endless(slurm, timeout(slurm, name))]
    if hanging:
        keys = dict.fromkeys(timeout(slurm, name) for name in hanging)
        evidence = tuple(setting(slurm, key) for key in (*hanging, *keys))
        yield Gap(CLUSTER, evidence, {"programs": ", ".join(hanging)})
    elif programs:
        yield FINE


def timeout(slurm: Slurm, program: str) -> str:
    """Return the setting that limits a program."""
    own = f"{program}Timeout"
    return own if own in slurm.config else "PrologEpilogTimeout"


def endless(slurm: Slurm, key: str) -> bool:
    """Tell whether a limit is told, and is none."""
    return (slurm.config.seconds(key) or 0) >= UNSET
