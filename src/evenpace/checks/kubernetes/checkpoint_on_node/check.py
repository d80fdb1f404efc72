"""Judge whether checkpoints of a large run outlive its pods and its nodes."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap, Unsure
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import dig, table, text
from evenpace.collect.kubernetes.policies import LARGE
from evenpace.collect.kubernetes.runs import Run, mentions, training, variables
from evenpace.collect.kubernetes.volumes import Claims, Mount, mounts, on_one_node, shared_in_pod
from evenpace.collect.kubernetes.workloads import Workload

# Folders that are a node's own; elsewhere a shared file system may be mounted on the hosts.
_OWN = (
    *("/tmp/", "/var/tmp/", "/var/lib/", "/raid/", "/local", "/nvme"),  # noqa: S108
    *("/mnt/disks/", "/mnt/nvme", "/mnt/local"),
)
_STORES = ("s3://", "gs://", "oss://", "abfs", "wasbs://", "hdfs://", "swift://", "az://", "oci://")


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each large run with a mount that is named for checkpoints."""
    claims = Claims(cluster)
    for run in training(cluster):
        found = [(part, one) for part in run.asking for one in mounts(part) if one.for_checkpoints]
        if not found or run.gpus < LARGE:
            continue
        kept = {place(claims, run, part, one): one for part, one in found}
        if "kept" in kept or _stored(run):
            yield FINE
        elif "node" in kept:
            mount = kept["node"]
            quoted = evidence(run.object, *mount.path), evidence(run.object, *mount.volume_path)
            yield Gap(subject(run.object), quoted, {"path": mount.where, "gpus": run.gpus})
        else:
            yield Unsure(subject(run.object), {"path": next(iter(kept.values())).where})


def place(claims: Claims, run: Run, part: Workload, mount: Mount) -> str:
    """Return `node` where a mount is lost with its node or pod, `kept` where not, `unknown`."""
    volume = mount.volume
    if dig(volume, "emptyDir") is not None or dig(volume, "ephemeral") is not None:
        return "kept" if shared_in_pod(part, volume) else "node"
    host = text(volume, "hostPath", "path")
    if mount.claim:
        bound = claims.volume(claims.claim(run.object, mount.claim))
        if bound is not None and on_one_node(bound):
            return "node"
        host = text(table(bound), "spec", "hostPath", "path")
    if not host:
        return "kept"
    return "node" if f"{host}/".startswith(_OWN) else "unknown"


def _stored(run: Run) -> bool:
    """Tell whether an object store is named in what the containers are told."""
    values = (one.value or "" for part in run.asking for one in variables(part).values())
    return mentions(run, *_STORES) or any(store in value for value in values for store in _STORES)
