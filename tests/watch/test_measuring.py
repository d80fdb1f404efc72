"""Measuring: own time, waiting and transfer of a joined iteration, wherever the spans begin."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from evenpace.collect.job.rings import Group
from evenpace.detect.iterations import IterationSpan
from evenpace.tap.inject.evenpace_tap.layout import KINDS
from evenpace.watch.groups import GroupBook
from evenpace.watch.joining import WorkerIteration, lanes
from evenpace.watch.measuring import measure
from evenpace.watch.operations import OPERATION

MS = 1_000_000
BOOK = GroupBook()
WORLD = BOOK.number(Group("0", (0, 1)))


def part(rank: int, kind: str, rows: Sequence[tuple[int, int, int]], span: IterationSpan) -> WorkerIteration:
    """Return a part whose rows are (sequence, enter, complete) in milliseconds; the host waits throughout."""
    operations = np.zeros(len(rows), OPERATION)
    for number, (sequence, enter, complete) in enumerate(rows):
        operations[number]["index"] = operations[number]["sequence"] = sequence
        operations[number]["enter"], operations[number]["complete"] = enter * MS, complete * MS
        operations[number]["wait_enter"] = enter * MS
        operations[number]["wait_ns"] = (complete - enter) * MS
    operations["kind"], operations["group"] = KINDS.index(kind), WORLD
    operations["peer"] = 1 - rank if kind in ("send", "recv") else -1
    operations["point_to_point"] = kind in ("send", "recv")
    return WorkerIteration(span, operations, lanes(operations, rank))


def test_the_late_one_works_and_the_early_one_waits() -> None:
    span = IterationSpan(0, 0, 100 * MS, 200 * MS, 0)
    measured = measure(
        5,
        {
            0: part(0, "all_reduce", [(0, 140, 190)], span),
            1: part(1, "all_reduce", [(0, 180, 190)], span),
        },
        BOOK,
    )
    assert measured.ranks == [0, 1]
    assert measured.sample.iteration == 5
    assert measured.sample.waiting == pytest.approx([0.04, 0.0])
    assert measured.sample.transfer == pytest.approx([0.01, 0.01])
    assert measured.sample.busy == pytest.approx([0.05, 0.09])
    assert not measured.sample.irregular


def test_an_operation_at_the_edge_finds_its_other_side_outside_the_other_span() -> None:
    sender = part(0, "send", [(7, 290, 300), (8, 390, 400)], IterationSpan(8, 8, 300 * MS, 400 * MS, 0))
    receiver = part(1, "recv", [(7, 210, 300), (8, 310, 400)], IterationSpan(7, 7, 200 * MS, 300 * MS, 0))
    measured = measure(0, {0: sender, 1: receiver}, BOOK)
    assert measured.sample.waiting[1] == pytest.approx(0.08)
    assert measured.sample.busy[1] == pytest.approx(0.01)


def test_transfer_times_are_told_by_pair() -> None:
    span = IterationSpan(7, 7, 200 * MS, 300 * MS, 0)
    parts = {0: part(0, "send", [(7, 220, 290)], span), 1: part(1, "recv", [(7, 210, 290)], span)}
    assert measure(0, parts, BOOK).sample.edges == {(0, 1): pytest.approx(0.07)}


def test_extra_operations_make_it_irregular() -> None:
    span = IterationSpan(0, 0, 100 * MS, 200 * MS, 2)
    parts = {rank: part(rank, "all_reduce", [(0, 140, 190)], span) for rank in (0, 1)}
    assert measure(0, parts, BOOK).sample.irregular


def test_the_event_has_groups_only_where_there_are_several() -> None:
    span = IterationSpan(0, 0, 100 * MS, 200 * MS, 0)
    parts = {rank: part(rank, "all_reduce", [(0, 140, 190)], span) for rank in (0, 1)}
    event = measure(3, parts, BOOK).event(1, 1_700_000_000.0, BOOK)
    assert (event.iteration, event.incarnation, event.waiting_by_group) == (3, 1, {})
    assert event.durations == [0.1, 0.1]


def test_what_groups_moved_and_who_entered_last() -> None:
    span = IterationSpan(0, 1, 100 * MS, 200 * MS, 0)
    parts = {
        0: part(0, "all_reduce", [(0, 140, 190), (1, 150, 195)], span),
        1: part(1, "all_reduce", [(0, 180, 190), (1, 145, 195)], span),
    }
    traffic = measure(0, parts, BOOK).traffic
    assert (traffic.group.tolist(), traffic.source.tolist()) == ([WORLD], [-1])
    assert traffic.seconds == pytest.approx([0.045])  # from 150 to 195, counted once
    assert sorted(traffic.last.tolist()) == [0, 1]


def test_load_is_what_went_through_all_to_all() -> None:
    span = IterationSpan(0, 0, 100 * MS, 200 * MS, 0)
    parts = {rank: part(rank, "all_to_all_single", [(0, 140, 190)], span) for rank in (0, 1)}
    parts[1].operations["bytes"] = 500
    load = measure(0, parts, BOOK).sample.load
    assert load is not None
    assert load.tolist() == [0.0, 500.0]


def test_tokens_are_known_only_where_all_tell_them() -> None:
    span = IterationSpan(0, 0, 100 * MS, 200 * MS, 0)
    parts = {rank: part(rank, "all_reduce", [(0, 140, 190)], span) for rank in (0, 1)}
    sample = measure(0, parts, BOOK, {0: (10, 50), 1: (20, 90)}).sample
    assert sample.tokens is not None
    assert sample.squares is not None
    assert (sample.tokens.tolist(), sample.squares.tolist()) == ([10, 20], [50, 90])
    assert measure(0, parts, BOOK, {0: (10, 50), 1: None}).sample.tokens is None
    assert sample.load is None
