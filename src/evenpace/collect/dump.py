"""Read what a user has of a cluster without reaching it: a folder of dumps, or a saved snapshot."""

from __future__ import annotations

from pathlib import Path

from evenpace.collect import saved
from evenpace.collect.kubernetes import dump as kubernetes
from evenpace.collect.slurm import dump as slurm
from evenpace.collect.snapshot import Snapshot
from evenpace.errors import Problem


def read(path: Path) -> tuple[Snapshot, ...]:
    """Read a folder or a file; raises Problem where nothing in it is from a cluster."""
    if path.is_file():
        return saved.read_all(path)
    try:
        found = (kubernetes.read(path), slurm.read(path))
    except OSError as error:
        raise Problem(f"cannot read {path}: {error.strerror}") from error
    snapshots = tuple(one for one in found if one is not None)
    if not snapshots:
        raise Problem(
            f"{path} holds no facts of a cluster; fill it by `kubectl get KIND -A -o json > {path}/KIND.json`"
            f" or `scontrol show config > {path}/scontrol_show_config.txt`"
        )
    return snapshots
