"""Where containers with accelerators write: their mounts, the volumes behind them, those for checkpoints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from evenpace.collect.kubernetes.fields import Object, flag, items, text
from evenpace.collect.kubernetes.runs import Path, containers
from evenpace.collect.kubernetes.workloads import Workload

_CHECKPOINT = re.compile(r"checkpoint|ckpt", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Mount:
    """Hold a mount that may be written to: where it appears, its volume, and the paths of both in the object."""

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
    """Tell whether a container without accelerators mounts a volume as well, to fill it or to copy it away."""
    asking = [container for _, container in containers(part)]
    others = [one for one in items(part.spec, "containers") if one not in asking]
    others += items(part.spec, "initContainers")
    name = text(volume, "name")
    return any(text(one, "name") == name for other in others for one in items(other, "volumeMounts"))
