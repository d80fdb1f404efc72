"""Judge whether pods that need several nodes share a volume that only one node can have."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import Object, name, strings, text
from evenpace.collect.kubernetes.runs import several_nodes, training
from evenpace.collect.kubernetes.volumes import Claims, disk, mounts, on_one_node

_ONE_NODE = {"ReadWriteOnce", "ReadWriteOncePod"}


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each run over several nodes whose pods share a claim."""
    claims = Claims(cluster)
    for run in training(cluster):
        parts = [part for part in run.asking if part.pods > 1] if several_nodes(run) else []
        shared = [(part, mount) for part in parts for mount in mounts(part) if mount.claim]
        bound = ((mount, claims.claim(run.object, mount.claim)) for _, mount in shared)
        single = [(mount, claim) for mount, claim in bound if claim and _single(claim, claims.volume(claim))]
        if single:
            mount, claim = single[0]
            quoted = evidence(run.object, *mount.volume_path), evidence(claim, "spec", "accessModes")
            yield Gap(subject(run.object), quoted, {"claim": name(claim), "pods": run.pods})
        elif shared:
            yield FINE


def _single(claim: Object, volume: Object | None) -> bool:
    """Tell whether a second node cannot mount a claim; of file systems ReadWriteOnce does not say so."""
    modes = set(strings(claim, "spec", "accessModes"))
    if not modes or not modes <= _ONE_NODE:
        return False
    once = modes == {"ReadWriteOncePod"} and text(claim, "status", "phase") == "Bound"
    return once or (volume is not None and (disk(volume) or on_one_node(volume)))
