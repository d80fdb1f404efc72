"""Judge whether a disk for checkpoints can be enlarged while the training runs."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import flag, name, namespace, text
from evenpace.collect.kubernetes.runs import training
from evenpace.collect.kubernetes.volumes import Claims, disk, mounts


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each claim on a disk of a fixed size that a training mounts for its checkpoints."""
    claims = Claims(cluster)
    classes = {name(one): one for one in cluster.objects("storageclasses.storage.k8s.io")}
    seen: set[tuple[str, str]] = set()
    for run in training(cluster):
        for one in (found for part in run.asking for found in mounts(part) if found.for_checkpoints):
            claim = claims.claim(run.object, one.claim) if one.claim else None
            volume = claims.volume(claim)
            made_by = classes.get(text(claim, "spec", "storageClassName"))
            key = (namespace(run.object), one.claim)
            if claim is None or volume is None or made_by is None or key in seen or not disk(volume):
                continue
            seen.add(key)
            if flag(made_by, "allowVolumeExpansion"):
                yield FINE
                continue
            told = (evidence(made_by, "allowVolumeExpansion"), evidence(claim, "spec", "resources"))
            yield Gap(subject(claim), told, {"path": one.where, "class": name(made_by)})
