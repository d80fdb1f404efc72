"""Judge whether Slurm keeps records of the jobs that ran."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import CLUSTER, setting
from evenpace.collect.slurm.nodes import gpu_nodes


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for a cluster with GPUs; `accounting_storage/none` is what older versions call it."""
    if not gpu_nodes(slurm) or "AccountingStorageType" not in slurm.config:
        return
    kind = slurm.config.text("AccountingStorageType").rpartition("/")[2]
    yield Gap(CLUSTER, (setting(slurm, "AccountingStorageType"),)) if kind in ("", "none") else FINE
