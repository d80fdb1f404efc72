"""Judge whether the accounting counts GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import CLUSTER, setting
from evenpace.collect.slurm.nodes import gpu_nodes


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for a cluster with GPUs and accounting."""
    kind = slurm.config.text("AccountingStorageType").rpartition("/")[2]
    if not gpu_nodes(slurm) or kind in ("", "none"):
        return
    counted = any(word.startswith("gres/gpu") for word in slurm.config.words("AccountingStorageTRES"))
    yield FINE if counted else Gap(CLUSTER, (setting(slurm, "AccountingStorageTRES"),))
