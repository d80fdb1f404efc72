"""Objects that the tests of the emulator put into it, and answers as snapshots."""

from __future__ import annotations

from typing import Any

from evenpace.checks.catalogue import checks
from evenpace.checks.running import run_all
from evenpace.collect.kubernetes.kinds import KINDS
from evenpace.collect.snapshot import Snapshot
from evenpace.demo.cluster.store import Store

Found = dict[str, tuple[str, frozenset[str]]]
OWN = [check for check in checks().values() if check.family == "kubernetes"]


def pod(name: str, node: str = "gpu-1", **labels: str) -> dict[str, Any]:
    """Return a pod that runs."""
    return {
        "metadata": {"name": name, "namespace": "ml", "labels": labels},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "x"}]},
        "status": {"phase": "Running"},
    }


def snapshot(store: Store) -> Snapshot:
    """Return what a store holds, as an audit would read it."""
    kinds = {kind: tuple(store.objects(kind)[0]) for kind in KINDS if kind in store.resources}
    return Snapshot("kubernetes", "store", store.now(), kinds)


def findings(found: Snapshot) -> Found:
    """Return the outcome and the subjects of every check."""
    results = run_all([found], OWN)
    return {
        one.check.id: (one.outcome.value, frozenset(str(gap.subject) for gap in one.gaps)) for one in results
    }
