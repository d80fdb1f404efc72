"""A gap that nodes share is the same one when a node more, or a node less, has it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from evenpace.checks.catalogue import checks
from evenpace.checks.running import run
from evenpace.collect.saved import read
from evenpace.report.audit import audit_of
from evenpace.report.audit.baseline import Baseline

SHARED = ("driver_drift", "kernel_drift", "runtime_drift", "node_version_drift")


def print_of(id_: str, change: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> str:
    """Return the fingerprint of the one gap of a fixture whose nodes were changed."""
    check = checks()[id_]
    whole = read(check.folder / "fixtures" / "fail.yaml")
    snapshot = replace(whole, kinds={**whole.kinds, "nodes": change(whole.kinds["nodes"])})
    audit = audit_of([snapshot], [run(check, snapshot)], "en")
    (found,) = audit.prints
    assert not audit_of([snapshot], audit.results, "en", None, Baseline({found: id_})).counting()
    return found


def renamed(node: Any, name: str) -> Any:
    """Return a node like another."""
    if isinstance(node, msgspec.Struct):
        return msgspec.structs.replace(node, name=name)
    return {**node, "metadata": {**node["metadata"], "name": name}}


def changed(node: Any, old: str, new: str) -> Any:
    """Return a node with a text replaced wherever it stands."""
    return msgspec.convert(
        msgspec.json.decode(msgspec.json.encode(node).replace(old.encode(), new.encode())), type(node)
    )


@pytest.mark.parametrize("id_", SHARED)
def test_nodes_that_join_or_leave_do_not_make_it_new(id_: str) -> None:
    before = print_of(id_, lambda nodes: nodes)
    assert print_of(id_, lambda nodes: (*nodes, renamed(nodes[-1], "odd"))) == before
    assert print_of(id_, lambda nodes: (renamed(nodes[0], "usual"), *nodes)) == before
    assert (
        print_of(id_, lambda nodes: (*nodes[1:], renamed(nodes[-1], "odd"), renamed(nodes[-1], "o")))
        == before
    )


def test_another_pool_or_another_value_is_another_gap() -> None:
    before = print_of("driver_drift", lambda nodes: nodes)
    pool = print_of("driver_drift", lambda nodes: tuple(changed(one, '"h100"', '"b"') for one in nodes))
    value = print_of("driver_drift", lambda nodes: (*nodes[:-1], changed(nodes[-1], '"535"', '"525"')))
    assert len({before, pool, value}) == 3
