"""What the tools may read: what the server was started with and, from the user's own agent, what it names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from evenpace.checks.catalogue import Check
from evenpace.collect import dump
from evenpace.collect.kubernetes import config
from evenpace.collect.snapshot import Snapshot
from evenpace.diagnose.sources import Inputs, find
from evenpace.errors import Problem

_NOT_FILES = ("/dev", "/proc", "/sys")  # a log in there is none, and standard input is the agent's


@dataclass(frozen=True, slots=True)
class Reach:
    """Hold what may be read.

    `context` and `slurm` are the clusters that the server was started with, `paths` the dumps and logs.
    Where `callers_name` holds, a call may name other files, and other contexts of the kubeconfig.
    """

    context: str | None = None
    kubeconfig: Path | None = None
    slurm: bool = False
    paths: tuple[Path, ...] = ()
    callers_name: bool = False

    def snapshots(self, path: str, context: str, checks: Sequence[Check]) -> tuple[Snapshot, ...]:
        """Read what a call names, else what the server was started with; raises Problem."""
        if path and context:
            raise Problem("name a path or a context, not both")
        if path:
            return dump.read(self._allowed(path))
        named = context or self.context
        if context and context != self.context and not self.callers_name:
            raise Problem("this server reads the context that it was started with only")
        found = [self._kubernetes(named, checks)] if named else []
        if self.slurm and not context:
            found.append(_slurm(checks))
        if found:
            return tuple(found)
        if len(self.paths) == 1:
            return dump.read(self.paths[0])
        raise Problem(
            "name what to audit: `path` of a dump or saved snapshot"
            + (", or `context` of the kubeconfig" if self.callers_name else "")
            + (f"; there are: {', '.join(map(str, self.paths))}" if self.paths else "")
        )

    def logs(self, paths: Sequence[str]) -> Inputs:
        """Return the logs behind the paths of a call, else the server's own; raises Problem."""
        if not paths and not self.paths:
            raise Problem("name the logs: `paths` of files or folders")
        inputs = find([str(self._allowed(one)) for one in paths] or map(str, self.paths))
        kept = [path for path in inputs.files if _is_file(path) and (self.callers_name or self._holds(path))]
        return Inputs(kept, inputs.skipped)

    def _allowed(self, given: str) -> Path:
        path = Path(given).expanduser()
        if not given or not _is_file(path):
            raise Problem(f"there is no file or folder {given[:200]!r}")
        if not self.callers_name and not self._holds(path):
            raise Problem("this server reads the files that it was started with only")
        return path

    def _holds(self, path: Path) -> bool:
        real = Path(os.path.realpath(path))
        return any(real.is_relative_to(os.path.realpath(one)) for one in self.paths)

    def _kubernetes(self, context: str, checks: Iterable[Check]) -> Snapshot:
        from evenpace.collect.kubernetes import live  # heavy, and only where there is a server

        access = config.access(self.kubeconfig, context)
        return live.read(access, {k for one in checks if one.family == "kubernetes" for k in one.kinds})


def _slurm(checks: Iterable[Check]) -> Snapshot:
    from evenpace.collect.slurm import live

    if not live.available():
        raise Problem("Slurm's commands are not installed where this server runs; start it without --slurm")
    return live.read({kind for check in checks if check.family == "slurm" for kind in check.kinds})


def _is_file(path: Path) -> bool:
    real = Path(os.path.realpath(path))
    apart = any(real.is_relative_to(one) for one in _NOT_FILES)
    return not apart and (real.is_file() or real.is_dir())
