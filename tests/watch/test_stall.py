"""Deadlocks: who alone is missing from a collective of many, and when nobody can be told."""

from __future__ import annotations

from evenpace.collect.job.rings import Group
from evenpace.detect.waitfor import HangKind, HangVerdict, Wait
from evenpace.watch.groups import GroupBook
from evenpace.watch.stall import absentee

BOOK = GroupBook()
WORLD, PAIR = BOOK.number(Group("0", (0, 1, 2, 3))), BOOK.number(Group("pp", (1, 2)))


def deadlock(*waits: Wait, cycle: tuple[int, ...]) -> HangVerdict:
    return HangVerdict(HangKind.DEADLOCK, waits=waits, cycle=cycle)


def test_the_one_that_skipped_a_collective_of_all_is_named() -> None:
    waits = [Wait(rank, 2, WORLD, "all_reduce", 7) for rank in (0, 1, 3)]
    verdict = deadlock(*waits, Wait(2, 1, PAIR, "recv", 40), cycle=(1, 2))
    assert absentee(verdict, BOOK) == 2


def test_two_that_wait_for_each_other_name_nobody() -> None:
    verdict = deadlock(Wait(1, 2, PAIR, "all_reduce", 7), Wait(2, 1, PAIR, "recv", 3), cycle=(1, 2))
    assert absentee(verdict, BOOK) is None


def test_half_of_the_ranks_missing_name_nobody() -> None:
    waits = [Wait(rank, on, WORLD, "all_reduce", 7) for rank in (0, 1) for on in (2, 3)]
    verdict = deadlock(*waits, Wait(2, 1, PAIR, "recv", 40), cycle=(1, 2))
    assert absentee(verdict, BOOK) is None


def test_a_late_rank_outside_the_circle_is_not_the_cause() -> None:
    waits = [Wait(rank, 0, WORLD, "all_reduce", 7) for rank in (1, 2, 3)]
    verdict = deadlock(*waits, Wait(1, 2, PAIR, "recv", 1), Wait(2, 1, PAIR, "recv", 1), cycle=(1, 2))
    assert absentee(verdict, BOOK) is None
