"""Joining: the same iteration of all workers, whoever recognised it when."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from evenpace.detect.iterations import IterationSpan
from evenpace.tap.inject.evenpace_tap.layout import KINDS
from evenpace.watch.joining import IterationJoiner, WorkerIteration, lanes
from evenpace.watch.operations import OPERATION, Operations

ALL_REDUCE, SEND, RECV = (KINDS.index(kind) for kind in ("all_reduce", "send", "recv"))


def collectives(first: int, count: int) -> Operations:
    operations = np.zeros(count, OPERATION)
    operations["sequence"] = np.arange(first, first + count)
    operations["kind"], operations["peer"] = ALL_REDUCE, -1
    return operations


def transfers(kind: int, peer: int, first: int, count: int) -> Operations:
    operations = collectives(first, count)
    operations["kind"], operations["peer"], operations["point_to_point"] = kind, peer, True
    return operations


def part(rank: int, number: int, operations: Operations) -> WorkerIteration:
    span = IterationSpan(number * 4, number * 4 + 3, number * 100, number * 100 + 100, 0)
    return WorkerIteration(span, operations, lanes(operations, rank))


def keys(operations: Operations, rank: int) -> NDArray[np.uint64]:
    return part(rank, 0, operations).keys


def test_a_send_and_its_receive_share_a_key_and_nothing_else() -> None:
    sends, receives = transfers(SEND, 1, 0, 3), transfers(RECV, 0, 0, 3)
    assert (keys(sends, 0) == keys(receives, 1)).all()
    assert not np.isin(keys(sends, 0), keys(transfers(SEND, 0, 0, 3), 1)).any()
    assert not np.isin(keys(sends, 0), keys(collectives(0, 3), 0)).any()


@given(missed=st.lists(st.integers(0, 5), min_size=3, max_size=3), count=st.integers(8, 20))
def test_workers_that_recognised_it_at_different_times_are_brought_together(
    missed: list[int], count: int
) -> None:
    joiner, joined = IterationJoiner(), []
    for number in range(count):
        for rank, late in enumerate(missed):
            if number >= late:
                joiner.add(rank, part(rank, number, collectives(number * 4, 4)))
        joined += joiner.ready([0, 1, 2])
    assert len(joined) == count - max(missed)
    assert all(len({one.span.first for one in parts.values()}) == 1 for parts in joined)


def test_a_chain_of_pipeline_stages_is_joined_through_its_neighbours() -> None:
    joiner = IterationJoiner()
    for number in range(3):
        joiner.add(0, part(0, number, transfers(SEND, 1, number * 4, 4)))
        middle = np.concatenate([transfers(RECV, 0, number * 4, 4), transfers(SEND, 2, number * 4, 4)])
        joiner.add(1, part(1, number, middle))
        joiner.add(2, part(2, number, transfers(RECV, 1, number * 4, 4)))
    assert len(joiner.ready([0, 1, 2])) == 3


@pytest.mark.parametrize("ahead", [0, 1, 2])
def test_a_stage_that_counts_from_another_iteration_is_brought_into_step(ahead: int) -> None:
    joiner, joined = IterationJoiner(), []
    for number in range(6):
        joiner.add(0, part(0, number, transfers(SEND, 1, number * 4, 4)))
        joiner.add(1, part(1, number, transfers(RECV, 0, (number + ahead) * 4, 4)))
        joined += joiner.ready([0, 1])
    assert len(joined) == 6 - ahead
    assert all((parts[0].operations["sequence"] == parts[1].operations["sequence"]).all() for parts in joined)


def test_workers_that_share_nothing_are_joined_by_time() -> None:
    joiner = IterationJoiner()
    for number in range(4):
        joiner.add(0, part(0, number, transfers(SEND, 5, number * 4, 4)))
        if number:
            joiner.add(1, part(1, number, transfers(SEND, 6, number * 4, 4)))
    joined = joiner.ready([0, 1])
    assert [parts[0].span.first for parts in joined] == [4, 8, 12]


def test_nothing_is_given_out_while_a_worker_is_missing() -> None:
    joiner = IterationJoiner()
    joiner.add(0, part(0, 0, collectives(0, 4)))
    assert joiner.ready([0, 1]) == []
    assert joiner.ready([]) == []
