"""Judge whether a large job is told in time that its limit is near."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.slurm.batch import large
from evenpace.collect.slurm.cluster import Slurm, seconds
from evenpace.collect.slurm.evidence import script_subject, setting
from evenpace.collect.slurm.shell import lines
from evenpace.findings import Evidence

ENOUGH = 300.0  # seconds of KillWait in which most checkpoints are done
# A run that ends itself before its limit, or a script that handles signals.
OWN = re.compile(
    r"exit[-_]duration|exit[-_]signal|exit[-_]interval|max[-_]time|time[-_]limit|timelimit|walltime|\btrap\b"
    r"|\btimeout\b|sigusr|sigterm|usr1|usr2|preempt",
    re.IGNORECASE,
)


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for each batch script of a large job that sets a time limit."""
    wait = slurm.config.seconds("KillWait")
    if wait is None:
        return
    for script, options in large(slurm):
        limit = seconds(options.get("time", ""))
        if not limit or limit == float("inf"):
            continue
        if wait >= ENOUGH or "signal" in options or any(OWN.search(line) for line in lines(script.text)):
            yield FINE
        else:
            asked = Evidence(source=script.path, text=f"#SBATCH --time={options['time']}")
            details = {"path": script.path, "seconds": f"{wait:g}"}
            yield Gap(script_subject(script), (asked, setting(slurm, "KillWait")), details)
