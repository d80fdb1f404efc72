"""Judge whether checkpoints are far rarer than the failures of nodes call for (Young 1974, Daly 2006)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from math import sqrt

from evenpace.checks.answers import FINE, Answer, Gap, Unsure
from evenpace.collect.slurm.batch import gpus, large
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import quoted, script_subject
from evenpace.collect.slurm.failures import failures
from evenpace.collect.slurm.model import PastJob
from evenpace.collect.slurm.shell import lines

SAVE = 300.0  # seconds that a save is taken to cost: more than most, so that the interval comes out long
FAR = 3.0  # times the best interval
LEAST = 5  # failures, for a rate
INTERVAL = re.compile(
    r"(?:save|ckpt|checkpoint)[a-z_-]{0,12}(?:interval|every|freq)[a-z_-]{0,12}?[_-](sec|min|hour)[a-z]{0,4}"
    r"[=: ]{1,3}[\"']?([0-9]{1,6})",
    re.IGNORECASE,
)
UNITS = {"sec": 1.0, "min": 60.0, "hour": 3600.0}


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for each batch script of a large job that tells its interval as a time."""
    past = [job for job in slurm.accounting if job.gpus]
    count = sum(map(len, failures(past).values()))
    spent = sum(gpu_seconds(job, slurm.now) for job in past)
    for script, options in large(slurm):
        size, line = gpus(options), next((one for one in lines(script.text) if INTERVAL.search(one)), "")
        if not size or not line:
            continue
        if count < LEAST or not spent:
            yield Unsure(script_subject(script), {"path": script.path, "failures": count})
            continue
        between = spent / count / size
        best, chosen = sqrt(2 * SAVE * between), interval(line)
        if chosen <= FAR * best:
            yield FINE
            continue
        told: dict[str, str | int] = {"path": script.path, "gpus": size, "failures": count}
        told |= {"hours": f"{chosen / 3600:.3g}"}
        told |= {"between": f"{between / 3600:.3g}", "best": round(best / 60)}
        yield Gap(script_subject(script), (quoted(script, line),), told)


def interval(line: str) -> float:
    """Return the seconds between two checkpoints that a line sets."""
    match = INTERVAL.search(line)
    return UNITS[match[1].casefold()] * int(match[2]) if match else 0.0


def gpu_seconds(job: PastJob, now: datetime) -> float:
    """Return what a job of the accounting used; one that still runs has met no failure so far."""
    ended = job.ended or (now if "RUNNING" in job.states else None)
    if not job.started or not ended:
        return 0.0
    return max(0.0, (job.gpus or 0) * (ended - job.started).total_seconds())
