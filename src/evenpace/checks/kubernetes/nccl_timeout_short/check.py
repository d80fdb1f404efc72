"""Judge whether NCCL waits for an InfiniBand or RoCE link as long as it does by itself."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.runs import Variable, runs, variables

TIMEOUT, RETRIES = "NCCL_IB_TIMEOUT", "NCCL_IB_RETRY_CNT"
_UNIT = 4.096e-6  # seconds; the timeout is an exponent of it
_OWN = {TIMEOUT: 20, RETRIES: 7}  # since NCCL 2.23
_MOST = {TIMEOUT: 31, RETRIES: 7}


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each workload with several accelerators that sets how long NCCL waits for a link."""
    own = seconds({})
    for run in runs(cluster):
        told = [variables(part) for part in run.asking if run.gpus > 1]
        told = [found for found in told if TIMEOUT in found or RETRIES in found]
        short = next((found for found in told if seconds(found) < own), None)
        if short is not None:
            said = [short[name] for name in (TIMEOUT, RETRIES) if name in short]
            quoted = tuple(evidence(run.object, *one.path) for one in said)
            details = {"seconds": round(seconds(short), 1), "own": round(own)}
            yield Gap(subject(run.object), quoted, details)
        elif told:
            yield FINE


def seconds(found: dict[str, Variable]) -> float:
    """Return how long NCCL waits before it gives a connection up; what is not seen counts as its own."""
    timeout, retries = _value(found, TIMEOUT), _value(found, RETRIES)
    if not 0 < timeout <= _MOST[TIMEOUT]:
        return inf
    return _UNIT * 2.0**timeout * min(retries, _MOST[RETRIES])


def _value(found: dict[str, Variable], name: str) -> int:
    value = (found[name].value or "").strip() if name in found else ""
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else _OWN[name]
