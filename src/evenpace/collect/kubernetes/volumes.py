"""Where containers with accelerators write: their mounts, the volumes behind them, those for checkpoints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.fields import Object, flag, items, name, namespace, table, text
from evenpace.collect.kubernetes.runs import Path, containers
from evenpace.collect.kubernetes.workloads import Workload

_CHECKPOINT = re.compile(r"checkpoint|ckpt", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Mount:
    """Hold a mount that may be written to: where it appears, its volume, and the paths of both."""

    where: str
    path: Path
    volume: Object
    volume_path: Path

    @property
    def claim(self) -> str:
        """Return the name of the PersistentVolumeClaim, empty for other volumes."""
        return text(self.volume, "persistentVolumeClaim", "claimName")

    @property
    def for_checkpoints(self) -> bool:
        """Tell whether the mount or its volume is named for checkpoints."""
        return bool(_CHECKPOINT.search(f"{self.where} {text(self.volume, 'name')}"))


def mounts(part: Workload) -> Iterator[Mount]:
    """Yield the mounts of the containers with accelerators that may be written to."""
    volumes = {text(one, "name"): (place, one) for place, one in enumerate(items(part.spec, "volumes"))}
    for path, container in containers(part):
        for place, mount in enumerate(items(container, "volumeMounts")):
            number, volume = volumes.get(text(mount, "name"), (-1, {}))
            claimed = flag(volume, "persistentVolumeClaim", "readOnly")
            if volume and not flag(mount, "readOnly") and not claimed:
                where = text(mount, "mountPath") + text(mount, "subPath")
                at = (*path, "volumeMounts", place)
                yield Mount(where, at, volume, (*part.path, "spec", "volumes", number))


def shared_in_pod(part: Workload, volume: Object) -> bool:
    """Tell whether a container without accelerators mounts a volume too, to fill it or to copy it away."""
    asking = [container for _, container in containers(part)]
    others = [one for one in items(part.spec, "containers") if one not in asking]
    others += items(part.spec, "initContainers")
    wanted = text(volume, "name")
    return any(text(one, "name") == wanted for other in others for one in items(other, "volumeMounts"))


class Claims:
    """Find the PersistentVolume behind a claim; `cluster` must declare both kinds."""

    def __init__(self, cluster: Cluster) -> None:
        self._claims = {(namespace(one), name(one)): one for one in cluster.objects("persistentvolumeclaims")}
        self._volumes = {name(one): one for one in cluster.objects("persistentvolumes")}

    def claim(self, user: Object, claimed: str) -> Object | None:
        """Return the claim of this name in the namespace of `user`; None where there is none."""
        return self._claims.get((namespace(user), claimed))

    def volume(self, claim: Object | None) -> Object | None:
        """Return the volume that a claim is bound to; None where it is not bound."""
        return self._volumes.get(text(claim, "spec", "volumeName"))


# Drivers of disks that one node has at a time; a name that ends in one of them counts as well.
_DISKS = (
    *("ebs.csi.aws.com", "pd.csi.storage.gke.io", "disk.csi.azure.com", "cinder.csi.openstack.org"),
    *("rbd.csi.ceph.com", "diskplugin.csi.alibabacloud.com", "blockvolume.csi.oraclecloud.com"),
    *("driver.longhorn.io", "dobs.csi.digitalocean.com"),
)
_DISK_FIELDS = ("awsElasticBlockStore", "gcePersistentDisk", "azureDisk", "cinder", "rbd", "iscsi", "fc")
_LOCAL_DRIVERS = ("topolvm.io", "topolvm.cybozu.com", "local.csi.openebs.io", "zfs.csi.openebs.io")


def on_one_node(volume: Object) -> bool:
    """Tell whether the data of a PersistentVolume lie on a disk of one node."""
    driver = text(volume, "spec", "csi", "driver")
    return bool(table(volume, "spec", "local")) or driver in _LOCAL_DRIVERS


def disk(volume: Object) -> bool:
    """Tell whether a PersistentVolume is a disk that is attached to one node at a time."""
    attached = any(table(volume, "spec", field) for field in _DISK_FIELDS)
    return attached or text(volume, "spec", "csi", "driver").endswith(_DISKS)
