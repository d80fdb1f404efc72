"""Judge whether anything looks at a node between two jobs."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import CLUSTER, setting
from evenpace.collect.slurm.nodes import gpu_nodes

PROGRAMS = ("Prolog", "Epilog", "PrologSlurmctld", "EpilogSlurmctld")


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for a cluster with GPUs: plug-ins of the site (PrEpPlugins) may do the work of a Prolog."""
    if not gpu_nodes(slurm):
        return
    plugins = [word for word in slurm.config.words("PrEpPlugins") if word not in ("prep/script", "script")]
    if plugins or any(slurm.config.text(program) for program in PROGRAMS):
        yield FINE
    else:
        yield Gap(CLUSTER, (setting(slurm, "Prolog"), setting(slurm, "Epilog")))
