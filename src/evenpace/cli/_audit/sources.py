"""Decide what an audit reads: a dump, or the clusters that this user has at hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evenpace.checks.catalogue import Check
from evenpace.collect import dump
from evenpace.collect.kubernetes import config
from evenpace.collect.snapshot import Snapshot
from evenpace.errors import Problem


@dataclass(frozen=True, slots=True)
class Source:
    """Hold what was asked to be read; `origin` is a dump, the rest chooses a cluster of Kubernetes."""

    origin: Path | None = None
    context: str | None = None
    kubeconfig: Path | None = None
    namespace: str | None = None

    @property
    def kubernetes(self) -> bool:
        """Tell whether a cluster of Kubernetes is asked for by name."""
        return any(one is not None for one in (self.context, self.kubeconfig, self.namespace))


def snapshots_of(source: Source, checks: Sequence[Check]) -> tuple[Snapshot, ...]:
    """Read what `checks` need; raises Problem where there is nothing to read."""
    if source.origin is not None:
        if source.kubernetes:
            raise Problem("--from reads a dump; leave out --context, --kubeconfig and --namespace")
        return dump.read(source.origin)
    if source.kubernetes or config.configured():
        return (_kubernetes(source, checks),)
    raise Problem("there is no cluster at hand: name one by --kubeconfig, or audit a dump by --from")


def _kubernetes(source: Source, checks: Sequence[Check]) -> Snapshot:
    from evenpace.collect.kubernetes import live  # heavy, and only where there is a server

    access = config.access(source.kubeconfig, source.context)
    kinds = {kind for check in checks if check.family == "kubernetes" for kind in check.kinds}
    return live.read(access, kinds, source.namespace)
