"""Both taps on real two-rank training: DDP with accumulation, FSDP2, a pipeline, every other operation."""

from __future__ import annotations

import importlib.util
import platform
import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from evenpace.tap.inject.evenpace_tap import layout

pytestmark = [pytest.mark.torch, pytest.mark.timeout(300)]
SYNCHRONIZING = ("all_reduce", "all_gather", "all_gather_into_tensor", "reduce_scatter_tensor", "barrier")
native = pytest.param(
    "native",
    marks=pytest.mark.skipif(
        platform.machine() != "x86_64" or shutil.which("cc") is None,
        reason="the native part cannot be built here",
    ),
)
Layouts = Callable[[str], Any]
both = pytest.mark.parametrize("kind", [native, "python"])


def kinds(records: NDArray[np.void]) -> list[str]:
    return [layout.KINDS[kind] for kind in records["kind"]]


def collectives(records: NDArray[np.void]) -> NDArray[np.void]:
    return records[(records["flags"] & layout.FLAG_POINT_TO_POINT) == 0]


@both
def test_the_tap_changes_nothing_that_is_trained(layouts: Layouts, kind: str) -> None:
    without, watched = layouts("off"), layouts(kind)
    assert (without.code, watched.code) == (0, 0), watched.err
    assert len(without.losses) == 8
    assert watched.losses == without.losses


@both
def test_the_header_tells_who_and_how_it_ended(layouts: Layouts, kind: str) -> None:
    headers = layouts(kind).headers
    assert [header.rank for header in headers] == [header.local_rank for header in headers] == [0, 1]
    assert all(header.tap_kind == {"native": 1, "python": 2}[kind] for header in headers)
    assert all((header.world_size, header.node, header.lost) == (2, "node", 0) for header in headers)
    assert all((header.state, header.exit_code) == (layout.STATE_EXITED, 0) for header in headers)
    assert all(header.optimizer_steps == 8 for header in headers)
    assert all(header.exited_ns > header.started_ns and header.stack for header in headers)


@both
def test_every_operation_is_seen_and_completes(layouts: Layouts, kind: str) -> None:
    for records in layouts(kind).records:
        assert {"broadcast", "all_reduce", "all_gather_into_tensor", "reduce_scatter_tensor"} <= set(
            kinds(records)
        )
        assert {"send", "recv", "gather", "scatter", "all_to_all_single", "barrier"} <= set(kinds(records))
        assert (records["complete_ns"] >= records["enter_ns"]).all()
        assert (records["return_ns"] >= records["enter_ns"]).all()
        assert not (records["flags"] & layout.FLAG_FAILED).any()
        assert not records["waiting"].any()
        assert (records["wait_enter_ns"] > 0).any()


@both
def test_ranks_agree_on_their_collectives(layouts: Layouts, kind: str) -> None:
    first, second = map(collectives, layouts(kind).records)
    series = ["kind", "bytes", "sequence"]
    assert first[series].tolist() == second[series].tolist()
    matched = np.isin(first["kind"], [layout.KINDS.index(each) for each in SYNCHRONIZING])
    first, second = first[matched], second[matched]
    last_enter = np.maximum(first["enter_ns"], second["enter_ns"])
    assert (np.minimum(first["complete_ns"], second["complete_ns"]) >= last_enter).all()


@both
def test_sends_match_the_receives_of_their_peer(layouts: Layouts, kind: str) -> None:
    records = layouts(kind).records
    for sender, receiver in ((0, 1), (1, 0)):
        sent = records[sender][records[sender]["kind"] == layout.KINDS.index("send")]
        received = records[receiver][records[receiver]["kind"] == layout.KINDS.index("recv")]
        assert set(sent["peer"]) == {receiver}
        assert set(received["peer"]) == {sender}
        assert sent["sequence"].tolist() == list(range(sent.size))
        common = min(sent.size, received.size)  # one send goes to a receive from anyone
        assert received.size == common >= 16
        assert sent["bytes"][:common].tolist() == received["bytes"].tolist()


@pytest.mark.skipif(shutil.which("cc") is None, reason="the native part cannot be built here")
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_both_taps_tell_the_same(layouts: Layouts) -> None:
    series = ["kind", "bytes", "peer", "sequence", "flags"]
    for by_native, by_python in zip(layouts("native").records, layouts("python").records, strict=True):
        assert by_native[series].tolist() == by_python[series].tolist()
