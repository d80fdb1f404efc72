"""Judge whether the Prolog runs on all nodes before the job starts."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import CLUSTER, setting

# Each of these means `Alloc` as well.
FLAGS = {"alloc", "contain", "deferbatch", "nohold", "forcerequeueonfail", "runinjob", "x11"}


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for a cluster with a Prolog."""
    if not slurm.config.text("Prolog"):
        return
    if FLAGS & {word.casefold() for word in slurm.config.words("PrologFlags")}:
        yield FINE
    else:
        yield Gap(CLUSTER, (setting(slurm, "Prolog"), setting(slurm, "PrologFlags")))
