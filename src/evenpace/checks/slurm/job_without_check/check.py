"""Judge whether anything looks at the nodes before a large job starts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.slurm.batch import large
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import script_subject, setting
from evenpace.collect.slurm.shell import lines
from evenpace.findings import Evidence

LOOKS = re.compile(
    r"nvidia-smi|dcgm|rocm-smi|amd-smi|nccl[-_]?test|_perf\b|health|check(?!point)|pre-?flight|burn|\bdiag|validate"
    r"|ibstat|\btest|xid",
    re.IGNORECASE,
)
SETTINGS = ("Prolog", "HealthCheckProgram", "PrologSlurmctld")


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for each batch script of a large job: a Prolog or health check of the cluster looks for all."""
    cluster = any(slurm.config.text(key) for key in SETTINGS)
    for script, options in large(slurm):
        if cluster or any(LOOKS.search(line) for line in lines(script.text)):
            yield FINE
        else:
            asked = Evidence(source=script.path, text=f"#SBATCH --nodes={options['nodes']}")
            evidence = (asked, *(setting(slurm, key) for key in SETTINGS))
            yield Gap(script_subject(script), evidence, {"path": script.path, "nodes": options["nodes"]})
