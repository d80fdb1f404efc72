"""Judge whether the health check reads the log before it asks the GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import quoted, script_subject
from evenpace.collect.slurm.shell import commands, functions, lines

TOOLS = {"nvidia-smi", "dcgmi", "rocm-smi", "amd-smi"}
SAFE = re.compile(r"\b(?:timeout|dmesg|journalctl|kmsg|xid)\b|/var/log/", re.IGNORECASE)


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for each health check that asks the driver; among functions the order says nothing."""
    for script in slurm.scripts:
        if script.role != "HealthCheckProgram":
            continue
        text = list(lines(script.text))
        asking = [place for place, line in enumerate(text) if asks(line)]
        if not asking:
            continue
        before = text if functions(script.text) else text[: asking[0] + 1]
        if any(SAFE.search(line) for line in before):
            yield FINE
        else:
            yield Gap(script_subject(script), (quoted(script, text[asking[0]]),), {"path": script.path})


def asks(line: str) -> bool:
    """Tell whether a line runs a tool that talks to the GPU driver."""
    return any(words[0].rpartition("/")[2] in TOOLS for words in commands(line))
