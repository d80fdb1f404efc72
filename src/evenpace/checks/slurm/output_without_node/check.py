"""Judge whether the output of a large job tells which node wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.slurm.batch import large
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import quoted, script_subject
from evenpace.collect.slurm.shell import commands, lines

# A file for each node or task, a label before each line, a launcher or a script that names its host.
TOLD = re.compile(
    r"%[0-9]{0,2}[Nnt]|--label|\s-\w*l\b|--log[-_]dir|--redirects|--tee|hostname|HOSTNAME|NODENAME"
    r"|SLURM_NODEID|SLURM_PROCID|NCCL_DEBUG|SRUN_LABELIO|torchrun|torch.distributed|accelerate|deepspeed"
)


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for each batch script of a large job that starts training with srun itself."""
    for script, _ in large(slurm):
        text = list(lines(script.text))
        starts = [line for line in text if any(words[0] == "srun" for words in commands(line))]
        if not starts:
            continue
        if TOLD.search(script.text) or any("$" in line.partition("srun")[2] for line in starts):
            yield FINE
        else:
            yield Gap(script_subject(script), (quoted(script, starts[-1]),), {"path": script.path})
