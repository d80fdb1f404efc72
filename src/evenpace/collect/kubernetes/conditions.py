"""Conditions of nodes that others than the kubelet set: what they are about, whether they are bad."""

from __future__ import annotations

import re
from functools import lru_cache

from evenpace.collect.kubernetes.fields import Object, items, text

_KUBELET = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", "OutOfDisk")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ACCELERATORS = frozenset(
    (
        *("gpu", "gpus", "xid", "sxid", "nv", "nvlink", "nvswitch", "nvidia", "accelerated", "accelerator"),
        *("accelerators", "dcgm", "neuron", "tpu", "gaudi", "habana", "rocm", "amdgpu", "npu", "ecc", "nvl"),
    )
)
_GOOD = ("ready", "healthy", "ok", "available", "active", "up", "present", "passed")
_BAD = frozenset(
    (
        *("missing", "error", "errors", "failure", "failed", "fault", "faults", "faulty", "inactive", "lost"),
        *("unhealthy", "down", "bad", "degraded", "degradation", "flapping", "deadlock", "problem", "off"),
        *("corrupt", "corruption", "readonly", "hung", "hang", "dropped", "mismatch", "issue", "watch"),
    )
)
# A device that runs on with less, or an announcement: no reason to keep pods away.
_MILD = frozenset(
    ("throttling", "throttle", "throttled", "maintenance", "scheduled", "non", "nonfatal", "thermal")
)


@lru_cache(maxsize=4096)
def words(kind: str) -> tuple[str, ...]:
    """Return the words of a condition's type: `GPUXIDErrors` → gpuxid, errors; `gpu-lost` → gpu, lost."""
    return tuple(word.lower() for word in _WORD.findall(re.sub(r"^(GPU|NV)(?=[A-Z])", r"\1-", kind[:200])))


def others(node: Object) -> tuple[Object, ...]:
    """Return the conditions of a node that are not the kubelet's own."""
    found = items(node, "status", "conditions")
    return tuple(one for one in found if text(one, "type") and text(one, "type") not in _KUBELET)


def about_accelerators(condition: Object) -> bool:
    """Tell whether a condition is about GPUs or other accelerators."""
    return not _ACCELERATORS.isdisjoint(words(text(condition, "type")))


def bad(condition: Object) -> bool:
    """Tell whether a condition surely says that something is broken; what could be either way is not."""
    kind, status = words(text(condition, "type")), text(condition, "status")
    if not kind or not _MILD.isdisjoint(kind):
        return False
    if kind[-1] in _GOOD:
        return status == "False"
    return status == "True" and not _BAD.isdisjoint(kind)
