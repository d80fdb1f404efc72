"""Judge whether checkpoints survive when somebody deletes the claim of their volume."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import name, namespace, text
from evenpace.collect.kubernetes.runs import training
from evenpace.collect.kubernetes.volumes import Claims, mounts


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each bound claim that a training mounts under a name for checkpoints."""
    claims = Claims(cluster)
    seen: set[tuple[str, str]] = set()
    for run in training(cluster):
        for one in (found for part in run.asking for found in mounts(part) if found.for_checkpoints):
            key = (namespace(run.object), one.claim)
            volume = claims.volume(claims.claim(run.object, one.claim)) if one.claim else None
            if volume is None or key in seen:
                continue
            seen.add(key)
            if text(volume, "spec", "persistentVolumeReclaimPolicy") != "Delete":
                yield FINE
                continue
            claim = claims.claim(run.object, one.claim)
            policy = evidence(volume, "spec", "persistentVolumeReclaimPolicy")
            told = (policy, evidence(run.object, *one.path))
            yield Gap(subject(claim or volume), told, {"path": one.where, "volume": name(volume)})
