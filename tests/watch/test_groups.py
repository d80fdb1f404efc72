"""Groups: one number for all members, a readable name."""

from __future__ import annotations

from evenpace.collect.job.rings import Group
from evenpace.watch.groups import GroupBook


def test_members_agree_on_the_number_whatever_their_pointers() -> None:
    book = GroupBook()
    world = book.number(Group("0", (0, 1, 2, 3)))
    assert book.number(Group("0", (0, 1, 2, 3))) == world
    assert book.number(Group("0", (0, 1))) != world


def test_the_widest_group_is_the_world() -> None:
    book = GroupBook()
    pair, world = book.number(Group("dp", (0, 2))), book.number(Group("0", (0, 1, 2, 3)))
    assert book.name(world) == "world"
    assert book.name(pair) == "dp [0,2]"


def test_an_unannounced_group_has_nobody_else_in_it() -> None:
    book = GroupBook()
    number = book.unknown(3, 0xABC)
    assert book.groups[number].ranks == (3,)
    assert book.unknown(3, 0xABC) == number
    assert book.unknown(2, 0xABC) != number


def test_long_groups_are_cut() -> None:
    book = GroupBook()
    book.number(Group("0", tuple(range(32))))
    assert book.name(book.number(Group("dp", tuple(range(0, 32, 2))))).endswith(",…]")
