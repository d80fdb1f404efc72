"""Judge whether a run keeps what explains a hang: PyTorch's record of the last collectives."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.runs import Variable, joined, training, variables

# What switches the recorder off, or its dump; the second name is that of older versions.
BUFFER = ("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE")
DUMP = ("TORCH_NCCL_DUMP_ON_TIMEOUT",)
_OFF = {BUFFER: ("0",), DUMP: ("0", "n", "no", "f", "false")}


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each workload whose pods train together."""
    for run in training(cluster):
        if not joined(run):
            continue
        off = next((found for part in run.asking if (found := _off(variables(part)))), None)
        if off:
            name, variable = off
            yield Gap(subject(run.object), (evidence(run.object, *variable.path),), {"variable": name})
        else:
            yield FINE


def _off(found: dict[str, Variable]) -> tuple[str, Variable] | None:
    """Return the variable that switches the record off."""
    for names, values in _OFF.items():
        name = next((name for name in names if name in found), None)
        if name is not None and (found[name].value or "").strip().lower() in values:
            return name, found[name]
    return None
