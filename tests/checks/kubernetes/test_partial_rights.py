"""What may not be read never makes a gap: a clean cluster stays without one, whichever kind is forbidden."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from evenpace.checks.catalogue import checks
from evenpace.checks.running import run
from evenpace.collect.kubernetes.kinds import ANYWHERE, KINDS, OF_USERS
from evenpace.collect.snapshot import Snapshot, Unread, Why
from evenpace.demo.cluster.fleet import FEWEST, filled
from evenpace.findings import Outcome

CHECKS = [check for check in checks().values() if check.family == "kubernetes"]


@pytest.fixture(scope="module")
def clean() -> Snapshot:
    """Return the clean cluster as it is read with all rights."""
    store = filled(FEWEST)
    kinds = {name: tuple(store.objects(name)[0]) for name in KINDS if name in store.resources}
    unread = {name: Unread(Why.ABSENT, name) for name in KINDS if name not in kinds}
    return Snapshot("kubernetes", "clean", datetime.now(UTC), kinds, unread)


@pytest.mark.parametrize("why", [Why.FORBIDDEN, Why.TIMEOUT, Why.MISSING])
def test_a_kind_that_cannot_be_read_makes_no_gap(clean: Snapshot, why: Why) -> None:
    failed = []
    for check in CHECKS:
        for kind in check.kinds:
            kinds = {name: objects for name, objects in clean.kinds.items() if name != kind}
            without = replace(clean, kinds=kinds, unread={**clean.unread, kind: Unread(why, f"list {kind}")})
            result = run(check, without)
            if result.outcome in (Outcome.FAIL, Outcome.ERROR):
                failed.append((check.id, kind, result.outcome, result.error))
    assert failed == []


def test_one_namespace_makes_no_gap(clean: Snapshot) -> None:
    failed = []
    for namespace in sorted({one["metadata"]["name"] for one in clean.kinds["namespaces"]}):
        kinds = {
            name: tuple(one for one in objects if one["metadata"].get("namespace") == namespace)
            if name in OF_USERS
            else objects
            for name, objects in clean.kinds.items()
        }
        partly = {kind: Unread(Why.MISSING, kind) for kind in ANYWHERE & kinds.keys()}
        for check in CHECKS:
            result = run(check, replace(clean, kinds=kinds, partly=partly))
            if result.outcome in (Outcome.FAIL, Outcome.ERROR):
                failed.append((check.id, namespace, result.outcome, result.error))
    assert failed == []
