"""Judge whether running containers keep their GPUs when systemd reloads its units on a node."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import Object, flag, instant, items, text

_SYMLINKS = "DISABLE_DEV_CHAR_SYMLINK_CREATION"
_WORDS = ("failed to initialize nvml: unknown error",)
_LATELY = timedelta(days=1)


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each ClusterPolicy: no CDI and no symlinks, or containers that did lose their GPUs."""
    lost = [one for one in cluster.objects("events") if _lost(one) and _fresh(one, cluster.now)]
    for policy in cluster.objects("clusterpolicies.nvidia.com"):
        path = ("spec", "validator", "driver", "env")
        set_ = [place for place, one in enumerate(items(policy, *path)) if _switched_off(one)]
        if flag(policy, "spec", "cdi", "enabled") is False and set_:
            told = (evidence(policy, "spec", "cdi", "enabled"), evidence(policy, *path, set_[0]))
            yield Gap(subject(policy), told, {"seen": len(lost)})
        elif lost:
            yield Gap(subject(policy), (evidence(lost[0], "message"),), {"seen": len(lost)})
        else:
            yield FINE


def _switched_off(variable: Object) -> bool:
    return text(variable, "name") == _SYMLINKS and text(variable, "value").lower() == "true"


def _lost(event: Object) -> bool:
    return any(word in text(event, "message").lower() for word in _WORDS)


def _fresh(event: Object, now: datetime) -> bool:
    last = instant(event, "lastTimestamp") or instant(event, "eventTime")
    return last is not None and now - last < _LATELY
