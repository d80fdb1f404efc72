"""Judge whether the health check looks at GPUs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap, Unsure
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import CLUSTER, setting
from evenpace.collect.slurm.nodes import gpu_nodes
from evenpace.collect.slurm.shell import handed_on, lines

GPU = re.compile(r"nvidia|nvsmi|nv_health|nvml|nvlink|dcgm|gpu|xid|rocm|amd-smi|hl-smi", re.IGNORECASE)
NHC = "/nhc.conf"
# Checks of Node Health Check that look at something else for sure.
OTHER = re.compile(r"check_(?:fs|hw|ps|file|net|dmi)_")


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for a cluster with GPUs and a health check: a script that runs others cannot be judged."""
    program = slurm.config.text("HealthCheckProgram")
    if not program or not gpu_nodes(slurm):
        return
    texts = [(one.path, one.text) for one in slurm.scripts if one.role == "HealthCheckProgram"]
    texts = [one for one in texts if one[0].endswith(NHC)] or texts
    if any(GPU.search(line) for _, text in texts for line in lines(text)):
        yield FINE
    elif not texts or any(unseen(path, text) for path, text in texts):
        yield Unsure(CLUSTER, {"program": program})
    else:
        yield Gap(CLUSTER, (setting(slurm, "HealthCheckProgram"),), {"program": program})


def unseen(path: str, text: str) -> bool:
    """Tell whether a text leaves work to what is not to be seen in it."""
    if path.endswith(NHC):
        return not all(OTHER.search(line) for line in lines(text) if "||" in line and "export" not in line)
    return bool(handed_on(text))
