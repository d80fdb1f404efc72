"""The folder of a run: where its events, logs and rings lie."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePath

import psutil

from evenpace.errors import Problem

DEFAULT_PARENT = "evenpace-runs"
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108
IN_MEMORY = "evenpace-"
# A memory-mapped ring needs a local file system: pages of these can block or vanish with the network.
NETWORK_FILE_SYSTEMS = re.compile(
    r"nfs\d?|lustre|gpfs|mmfs|beegfs(_nodev)?|ceph|glusterfs|panfs|wekafs|afs|pvfs2|orangefs|cifs|smb\d?|9p|fuse\..+"
)


def is_network_file_system(path: Path) -> bool:
    """Tell whether `path` lies on a network file system, by the longest mount point above it."""
    place = path.resolve()
    best = (-1, "")
    for part in psutil.disk_partitions(all=True):
        if place.is_relative_to(part.mountpoint):
            best = max(best, (len(part.mountpoint), part.fstype))
    return NETWORK_FILE_SYSTEMS.fullmatch(best[1]) is not None


def script_name(command: Sequence[str]) -> str:
    """Return a name for the run: of the script where there is one, else of the program."""
    script = next((word for word in command if word.endswith(".py")), command[0])
    return re.sub(r"[^A-Za-z0-9._-]+", "-", PurePath(script).stem).strip(".-") or "run"


def default_folder(command: Sequence[str], now: float) -> Path:
    """Return evenpace-runs/<UTC date-time>-<script>, numbered where that is taken. `now`: epoch seconds."""
    day = datetime.fromtimestamp(now, UTC).strftime("%Y%m%d-%H%M%S")
    base = Path(DEFAULT_PARENT) / f"{day}-{script_name(command)}"
    path, number = base, 2
    while path.exists():
        path, number = base.with_name(f"{base.name}-{number}"), number + 1
    return path


class RunFolder:
    """Know the paths within one run's folder; logs and rings are kept by incarnation (from 0)."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self._ring_root: Path | None = None

    @classmethod
    def create(cls, path: Path) -> RunFolder:
        """Make the folder; raises Problem where it cannot be written or already holds a run."""
        folder = cls(path)
        if folder.events.exists():
            raise Problem(
                f"{path} already holds a run; choose another --run-dir, or go on with --attach {path}"
            )
        try:
            (folder.path / "logs").mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder.path):
                pass
        except OSError as error:
            raise Problem(
                f"cannot write the run folder {path}: {error.strerror}; choose another --run-dir"
            ) from error
        return folder

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Open the folder of an existing run; raises Problem where there is none."""
        folder = cls(path)
        if not folder.events.is_file():
            raise Problem(f"{path} is not the folder of a run: it has no events.jsonl")
        return folder

    @property
    def events(self) -> Path:
        """Return the path of the event log."""
        return self.path / "events.jsonl"

    def log(self, incarnation: int, node: str) -> Path:
        """Return the path of a node's log."""
        return self.path / "logs" / str(incarnation) / f"{node}.log"

    def logs(self, incarnation: int, nodes: Sequence[str]) -> dict[str, Path]:
        """Return the paths of all nodes' logs and make their folder where possible."""
        paths = {node: self.log(incarnation, node) for node in nodes}
        _make(self.path / "logs" / str(incarnation))
        return paths

    def rings(self, incarnation: int) -> Path:
        """Return the folder of the ring files, made where possible; in memory for a network file system."""
        if self._ring_root is None:
            self._ring_root = self._choose_ring_root()
        path = self._ring_root / str(incarnation)
        _make(path)
        return path

    def _choose_ring_root(self) -> Path:
        if not is_network_file_system(self.path) or not os.access(SHARED_MEMORY, os.W_OK):
            return self.path / "rings"
        return Path(tempfile.mkdtemp(prefix=f"{IN_MEMORY}{self.path.name}-", dir=SHARED_MEMORY))


def release_rings(rings: Path) -> None:
    """Free the memory of rings that `RunFolder.rings` put there; others are part of the run's folder."""
    root = rings.parent
    if root.parent == SHARED_MEMORY and root.name.startswith(IN_MEMORY):
        shutil.rmtree(root, ignore_errors=True)


def _make(path: Path) -> None:
    """Make a folder; a full or read-only disk must not stop the job, so whoever writes there finds out."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError:
        return
