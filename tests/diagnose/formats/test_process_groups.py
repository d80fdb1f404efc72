"""How many ranks there are, and which group a timeout belongs to."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evenpace.diagnose.formats import c10d
from evenpace.diagnose.formats.c10d import Stuck
from evenpace.diagnose.formats.process_groups import Group, World, groups_of, world_of
from evenpace.diagnose.lines import read_lines
from evenpace.diagnose.model import Case


def caught(rank: int | None, inside: int, seq: int, op: str = "ALLREDUCE", ran: int = 600020) -> str:
    head = "" if rank is None else f"[rank{rank}]:[E512 10:00:00.1 ProcessGroupNCCL.cpp:632] "
    work = f"WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn=1, NumelOut=1, Timeout(ms)=600000)"
    said = (
        f"Watchdog caught collective operation timeout: {work} ran for {ran} milliseconds before timing out."
    )
    return f"{head}[Rank {inside}] {said}"


def detected(rank: int, group: str, inside: int, seq: int) -> str:
    return (
        f"[rank{rank}]:[E512 10:00:00.2 ProcessGroupNCCL.cpp:2268] [PG ID 1 PG GUID {group}(TP) Rank "
        f"{inside}]  failure detected by watchdog at work sequence id: {seq} PG status: "
        f"last enqueued work: {seq}, last completed work: {seq - 1}"
    )


def read(*texts: str) -> tuple[World, list[Group]]:
    lines = read_lines("job.log", "\n".join(texts))
    records = c10d.read(lines)
    world = world_of(Case((), tuple(lines)), [one for one in records if isinstance(one, Stuck)])
    return world, groups_of(records, world)


def test_the_world_is_what_the_programs_say() -> None:
    assert read("using world size: 16, data-parallel size: 4")[0].size == 16
    assert read("Initializing distributed: GLOBAL_RANK: 3, MEMBER: 4/8")[0].size == 8
    assert read("All distributed processes registered. Starting with 32 processes")[0].size == 32
    assert read("nothing of that kind")[0].size is None


def test_absent_are_those_of_the_world_who_do_not_report() -> None:
    assert World(4, frozenset(), split=False).absent([0, 1, 3]) == {2}
    assert World(None, frozenset({3}), split=False).absent([1, 2]) == {0, 3}


def test_one_group_without_a_name_is_the_job() -> None:
    world, (group,) = read(caught(None, 0, 5), caught(None, 1, 5))
    assert not world.split
    assert sorted(group.waiting) == [0, 1]


def test_two_processes_of_one_rank_number_are_in_different_groups() -> None:
    world, groups = read(caught(None, 0, 5, ran=600011), caught(None, 0, 9, ran=600047))
    assert world.split
    assert groups == []


def test_parallel_sizes_split_the_job() -> None:
    assert read("  tensor_model_parallel_size ...................... 4")[0].split
    assert not read("  tensor_model_parallel_size ...................... 1")[0].split


def test_timeouts_belong_to_the_group_that_follows_them() -> None:
    texts = [caught(8, 0, 70), detected(8, "3", 0, 70), caught(9, 1, 70), detected(9, "3", 1, 70)]
    texts += [caught(0, 0, 12), detected(0, "5", 0, 12), caught(4, 1, 12)]
    _, groups = read(*texts)
    assert {group.name: sorted(group.waiting) for group in groups} == {"3": [8, 9], "5": [0]}


def test_sends_are_not_compared() -> None:
    assert read(caught(0, 0, 5, "SEND"), caught(1, 1, 9, "RECV"))[1] == []


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 99)), max_size=20))
def test_any_mix_of_ranks_is_sorted(mix: list[tuple[int, int, int]]) -> None:
    _, groups = read(*(caught(rank, inside, seq) for rank, inside, seq in mix))
    assert sum(len(group.waiting) for group in groups) <= len(mix)
