"""Judge whether NCCL waits for an InfiniBand or RoCE link as long as it does by itself."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.runs import Variable, runs, variables

# NCCL's own values, the lower of those of its versions: an exponent of 4.096 µs, and tries.
LEAST = {"NCCL_IB_TIMEOUT": 18, "NCCL_IB_RETRY_CNT": 7}


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each workload with accelerators that sets how long NCCL waits for a link."""
    for run in runs(cluster):
        found = [pair for part in run.asking for pair in variables(part).items()]
        told = [(name, one) for name, one in found if name in LEAST and run.gpus > 1]
        short = [(name, one) for name, one in told if _short(name, one)]
        if short:
            name, one = short[0]
            details = {"variable": name, "value": one.value or "", "least": LEAST[name]}
            yield Gap(subject(run.object), (evidence(run.object, *one.path),), details)
        elif told:
            yield FINE


def _short(name: str, variable: Variable) -> bool:
    """Tell whether a value is below NCCL's own; a timeout of 0 means that the adapter waits without end."""
    value = (variable.value or "").strip()
    if not value.isascii() or not value.isdigit() or len(value) > 9:
        return False
    return int(value) < LEAST[name] and (name != "NCCL_IB_TIMEOUT" or int(value) > 0)
