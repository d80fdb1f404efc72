"""Judge whether a failed collective ends the process, rather than leaving it hang."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.runs import Variable, runs, variables

# The second name of each is that of older versions of PyTorch.
HANDLING = ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING")
BLOCKING = ("TORCH_NCCL_BLOCKING_WAIT", "NCCL_BLOCKING_WAIT")


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each workload with accelerators that sets what PyTorch does about errors of NCCL."""
    for run in runs(cluster):
        settings = (variables(part) for part in run.asking if run.gpus > 1)
        told = [found for found in settings if _first(found, HANDLING)]
        ignored = [one for found in told if (one := _ignored(found))]
        if ignored:
            quoted = (evidence(run.object, *ignored[0].path),)
            yield Gap(subject(run.object), quoted, {"gpus": run.gpus, "pods": run.pods})
        elif told:
            yield FINE


def _ignored(found: dict[str, Variable]) -> Variable | None:
    """Return the variable that switches handling off; a blocking wait raises the error instead."""
    handling, blocking = _first(found, HANDLING), _first(found, BLOCKING)
    off = handling is not None and (handling.value or "").strip() == "0"
    return handling if off and (blocking is None or blocking.value == "0") else None


def _first(found: dict[str, Variable], names: tuple[str, ...]) -> Variable | None:
    return next((found[name] for name in names if name in found), None)
