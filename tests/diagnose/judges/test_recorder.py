"""Flight-recorder dumps of several ranks, and what the analyzer prints of them."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from evenpace.diagnose.formats.flight_recorder import read_dump
from evenpace.diagnose.judges import recorder
from evenpace.diagnose.lines import read_lines
from evenpace.diagnose.model import Case, Sighting, Source

Call = tuple[str, int, str, int, bool]  # group, sequence number, operation, elements, done


def dumps(calls: dict[int, list[Call]], groups: dict[str, list[int]]) -> tuple[object, ...]:
    config = {name: {"name": name, "desc": name, "ranks": str(members)} for name, members in groups.items()}
    return tuple(
        read_dump(
            f"trace_rank_{rank}",
            json.dumps(
                {
                    "pg_config": config,
                    "entries": [entry(number, *call) for number, call in enumerate(of_rank)],
                }
            ).encode(),
        )
        for rank, of_rank in calls.items()
    )


def entry(number: int, group: str, seq: int, op: str, size: int, done: bool) -> dict[str, object]:
    return {
        "process_group": [group, group],
        "collective_seq_id": seq,
        "profiling_name": f"nccl:{op}",
        "input_sizes": [[size]],
        "output_sizes": [[size]],
        "state": "completed" if done else "started",
        "is_p2p": op.startswith("send"),
        "time_created_ns": number,
    }


def compare(calls: dict[int, list[Call]], **groups: list[int]) -> list[Sighting]:
    return list(recorder.judge(Case((), (), dumps=dumps(calls, groups))))


def done(*seqs: int, group: str = "all") -> list[Call]:
    return [(group, seq, "all_reduce", 8, True) for seq in seqs]


def waits(seq: int, group: str = "all", op: str = "all_reduce", size: int = 8) -> Call:
    return (group, seq, op, size, False)


ALL4 = [0, 1, 2, 3]


def test_who_never_joined() -> None:
    calls = {rank: [*done(1, 2), *([] if rank == 2 else [waits(3)])] for rank in ALL4}
    (one,) = compare(calls, all=ALL4)
    assert (one.signature, one.culprit.rank, one.victims[0].rank) == ("recorder-missing-ranks", 2, (0, 1, 3))
    assert one.lines[0].source == "trace_rank_2"


def test_a_bad_first_rank_does_not_make_culprits_of_the_others() -> None:
    calls = {rank: [*done(1), waits(2, size=16 if rank == 0 else 8)] for rank in ALL4}
    (one,) = compare(calls, all=ALL4)
    assert (one.signature, one.culprit.rank) == ("recorder-mismatch", 0)


def test_two_against_two_name_nobody() -> None:
    calls = {rank: [*done(1), waits(2, op="broadcast" if rank < 2 else "all_reduce")] for rank in ALL4}
    (one,) = compare(calls, all=ALL4)
    assert (one.signature, bool(one.culprit)) == ("recorder-differs", False)


def test_roots_of_a_gather_have_other_sizes() -> None:
    calls = {rank: [*done(1), ("all", 2, "gather", 64 if rank == 0 else 8, True)] for rank in ALL4}
    assert compare(calls, all=ALL4) == []


def test_all_in_the_operation_name_nobody() -> None:
    (one,) = compare({rank: [*done(1), waits(2)] for rank in ALL4}, all=ALL4)
    assert (one.signature, bool(one.culprit)) == ("all-ranks-joined", False)


def test_whoever_waits_in_another_group_is_not_the_root() -> None:
    """0 and 1 wait for 2 in `all`; 2 waits for 3 in `pair`; 3 is in nothing."""
    calls = {
        0: [*done(1), waits(2)],
        1: [*done(1), waits(2)],
        2: [*done(1), waits(1, "pair")],
        3: [*done(1)],
    }
    (one,) = compare(calls, all=ALL4, pair=[2, 3])
    assert (one.signature, one.culprit.rank) == ("recorder-missing-ranks", 3)


def test_a_circle_of_groups() -> None:
    calls = {0: [waits(1, "a")], 1: [waits(1, "b")]}
    (one,) = compare(calls, a=[0, 1], b=[0, 1])
    assert (one.signature, bool(one.culprit)) == ("recorder-cycle", False)
    assert one.captures["cycle"].count("->") == 2


def test_a_rank_that_waits_for_a_message_is_not_idle() -> None:
    calls = {rank: [*done(1), waits(2)] for rank in (0, 1, 2)} | {3: [*done(1), waits(1, op="send 3->0")]}
    assert [one.culprit.rank for one in compare(calls, all=ALL4)] == [None]


def test_ranks_without_a_dump_are_not_blamed() -> None:
    assert all(not one.culprit for one in compare({rank: [*done(1), waits(2)] for rank in (0, 1)}, all=ALL4))


def test_what_one_ring_has_forgotten_is_not_compared() -> None:
    calls = {0: [*done(1, 2, 3), waits(4)], 1: [*done(3), waits(4)], 2: [*done(2, 3)]}
    (one,) = compare(calls, all=[0, 1, 2])
    assert (one.signature, one.culprit.rank) == ("recorder-missing-ranks", 2)


def test_one_dump_tells_where_its_process_stands() -> None:
    (one,) = compare({5: [*done(1), waits(2)]}, all=ALL4)
    assert (one.signature, one.captures["sequence"]) == ("recorder-stuck-at", "2")


def analyzed(text: str) -> list[Sighting]:
    return list(recorder.judge(Case((Source("fr.txt"),), tuple(read_lines("fr.txt", text)))))


def missing(group: str, ranks: str, expected: str) -> str:
    return (
        f"Not all ranks joining collective: sequence number: 4\ngroup info: {group}\n"
        f"collective: nccl:all_reduce\nmissing ranks: {{{ranks}}}\nexpected ranks: {{{expected}}}\n"
        f"collective state: scheduled\n"
    )


def test_most_of_a_group_is_not_blamed() -> None:
    (one,) = analyzed(missing("0:default_pg", "1, 2, 3", "0, 1, 2, 3"))
    assert not one.culprit


def test_missing_in_one_group_because_of_another() -> None:
    found = analyzed(missing("1:DATA", "2", "0, 2, 4") + missing("5:TENSOR", "3", "2, 3"))
    assert [one.culprit.rank for one in found] == [3]


CALLS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b"]), st.integers(1, 4), st.sampled_from(["all_reduce", "send 0->1"]),
        st.integers(1, 2), st.booleans(),
    ),
    max_size=6,
)  # fmt: skip


@given(st.dictionaries(st.integers(0, 4), CALLS, max_size=5))
def test_any_dumps_are_judged_and_no_majority_is_blamed(calls: dict[int, list[Call]]) -> None:
    for one in compare(calls, a=[0, 1, 2, 3, 4], b=[0, 1]):
        blamed = one.culprit.rank if isinstance(one.culprit.rank, tuple) else (one.culprit.rank,)
        assert not one.culprit or 2 * len(blamed) <= len(calls)
