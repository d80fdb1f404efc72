"""The folder of a run: where its events, logs and rings lie."""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path, PurePath

import psutil

from evenpace.errors import Problem

DEFAULT_PARENT = "evenpace-runs"
ROOM = 32 << 20  # bytes: a full disk would fail the job's own output
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108
IN_MEMORY = "evenpace-"
WORKERS_OF_A_NODE = 8  # where nobody has counted them
BYTES_OF_A_RING = 6 << 20  # with its groups
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
        self._in_memory: Path | None = None

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
            free = shutil.disk_usage(folder.path).free
        except OSError as error:
            raise Problem(
                f"cannot write the run folder {path}: {error.strerror}; choose another --run-dir"
            ) from error
        if free < ROOM:
            raise Problem(
                f"the disk of {path} has {free >> 20} MiB left, logs and events need {ROOM >> 20}; "
                "choose another --run-dir"
            )
        return folder

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Open the folder of an existing run; raises Problem where there is none."""
        folder = cls(path)
        if not folder.events.is_file():
            raise Problem(f"{path} is not the folder of a run: it has no events.jsonl")
        return folder

    @property
    def shown(self) -> str:
        """Return the folder's path as a person would type it from here."""
        return os.path.relpath(self.path) if self.path.is_relative_to(Path.cwd()) else str(self.path)

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

    def rings(self, incarnation: int, nodes: int) -> Path:
        """Return a folder for the ring files of an incarnation on `nodes` nodes, made where possible.

        In memory where there is room, with a link in the run's folder: a store into a file on a disk can
        wait for the disk. Else in the run's folder, if that is not on a network.
        """
        home = self.path / "rings" / str(incarnation)
        try:
            path = self._memory(nodes) / str(incarnation)
            path.mkdir(exist_ok=True)
        except OSError:
            _make(home)
            return home
        _link(home, path)
        return path

    def _memory(self, nodes: int) -> Path:
        """Return this run's folder in memory, for this user alone; raises OSError where there is no room."""
        room = shutil.disk_usage(SHARED_MEMORY)
        left = room.free - nodes * WORKERS_OF_A_NODE * BYTES_OF_A_RING
        if left < room.total / 2 and not is_network_file_system(self.path):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(SHARED_MEMORY))
        if self._in_memory is None:
            name = f"{IN_MEMORY}{self.path.name}-"
            self._in_memory = Path(tempfile.mkdtemp(prefix=name, dir=SHARED_MEMORY))
        return self._in_memory

    def keep_rings(self, rings: Path | None, running: int | None = None) -> None:
        """Move the rings of ended incarnations, such as `rings`, from memory into the run's folder.

        Memory is freed in any case: nothing but a watcher of the `running` incarnation needs a ring.
        """
        for root in {rings.parent if rings else None, self._in_memory}:
            if root and root.parent == SHARED_MEMORY and root.name.startswith(IN_MEMORY):
                self._bring_home(root, str(running))

    def _bring_home(self, root: Path, running: str) -> None:
        for path in _entries(root):
            if path.name != running:
                _replace_link(self.path / "rings" / path.name, path)
                shutil.rmtree(path, ignore_errors=True)
        with suppress(OSError):
            root.rmdir()  # refused while an incarnation runs


def _link(link: Path, path: Path) -> None:
    """Make a link; without it only the event log says where the rings are."""
    _make(link.parent)
    with suppress(OSError):
        link.symlink_to(path)


def _replace_link(link: Path, path: Path) -> None:
    """Put a copy of `path` in the place of the link to it; a full disk gets none."""
    part = link.with_name(f".{link.name}")
    try:
        shutil.copytree(path, part, symlinks=True)
        link.unlink(missing_ok=True)
        part.rename(link)
    except OSError:
        shutil.rmtree(part, ignore_errors=True)


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _make(path: Path) -> None:
    """Make a folder; a full or read-only disk must not stop the job, so whoever writes there finds out."""
    with suppress(OSError):
        path.mkdir(parents=True, exist_ok=True)
