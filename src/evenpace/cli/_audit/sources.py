"""Decide what an audit reads: a dump, or the clusters that this user has at hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import click

from evenpace.checks.catalogue import Check
from evenpace.cli._audit import saving
from evenpace.collect import dump
from evenpace.collect.kubernetes import config
from evenpace.collect.slurm.scripts import with_jobs
from evenpace.collect.snapshot import Snapshot, Why
from evenpace.errors import Problem


@dataclass(frozen=True, slots=True)
class Source:
    """Hold what was asked to be read, and whether it is kept.

    `origin` is a dump; `context`, `kubeconfig` and `namespace` choose a cluster of Kubernetes.
    """

    origin: Path | None = None
    context: str | None = None
    kubeconfig: Path | None = None
    namespace: str | None = None
    job_scripts: tuple[Path, ...] = ()
    save: Path | None = None
    redact: bool = False

    @property
    def kubernetes(self) -> bool:
        """Tell whether a cluster of Kubernetes is asked for by name."""
        return any(one is not None for one in (self.context, self.kubeconfig, self.namespace))


def snapshots_of(source: Source, checks: Sequence[Check]) -> tuple[Snapshot, ...]:
    """Read what `checks` need, and keep it where that is asked for; raises Problem."""
    found = _read(source, checks)
    if source.redact:
        found = saving.nameless(found)
    if source.save is not None:
        inputs = (source.origin, source.kubeconfig, *source.job_scripts)
        saving.save(found, source.save, [one for one in inputs if one])
    return found


def _read(source: Source, checks: Sequence[Check]) -> tuple[Snapshot, ...]:
    """Return what there is to read; raises Problem where that is nothing."""
    if source.origin is not None:
        if source.kubernetes:
            raise Problem("--from reads a dump; leave out --context, --kubeconfig and --namespace")
        return _with_scripts(dump.read(source.origin), source.job_scripts)
    found = () if source.kubernetes else _slurm(checks)
    if source.kubernetes or config.configured():
        try:
            found = (_kubernetes(source, checks), *found)
        except Problem as problem:
            if source.kubernetes or not found:
                raise
            click.echo(f"evenpace: only Slurm is audited: {problem}", err=True)
    if not found and not source.job_scripts:
        raise Problem(
            "there is no cluster at hand: name one by --kubeconfig, or audit a dump by --from;"
            " `evenpace demo-cluster` makes one up to try it on"
        )
    return _with_scripts(found, source.job_scripts)


def _kubernetes(source: Source, checks: Sequence[Check]) -> Snapshot:
    from evenpace.collect.kubernetes import live  # heavy, and only where there is a server

    access = config.access(source.kubeconfig, source.context)
    kinds = {kind for check in checks if check.family == "kubernetes" for kind in check.kinds}
    return live.read(access, kinds, source.namespace)


def _slurm(checks: Sequence[Check]) -> tuple[Snapshot, ...]:
    """Read Slurm where its commands are installed and know a cluster."""
    from evenpace.collect.slurm import live

    if not live.available():
        return ()
    snapshot = live.read({kind for check in checks if check.family == "slurm" for kind in check.kinds})
    reason = snapshot.reason("config")
    return () if reason and reason.why is Why.ABSENT else (snapshot,)


def _with_scripts(snapshots: tuple[Snapshot, ...], paths: tuple[Path, ...]) -> tuple[Snapshot, ...]:
    """Add batch scripts to what was read of Slurm; without a cluster they are audited by themselves."""
    if not paths:
        return snapshots
    if not any(snapshot.family == "slurm" for snapshot in snapshots):
        snapshots += (Snapshot("slurm", ", ".join(map(str, paths)), datetime.now(UTC), {}),)
    return tuple(with_jobs(one, paths) if one.family == "slurm" else one for one in snapshots)
