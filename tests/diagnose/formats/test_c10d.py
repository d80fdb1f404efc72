"""c10d's records, in the words of its versions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.diagnose.formats import c10d
from evenpace.diagnose.formats.c10d import LateRoot, Named, Running, Status, Stuck
from evenpace.diagnose.model import Identity, Line

WORK = "WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=64, NumelOut=64, Timeout(ms)=600000)"
CAUGHT = (
    f"Watchdog caught collective operation timeout: {WORK} ran for 600020 milliseconds before timing out."
)


def read(text: str, rank: int | None = None) -> list[c10d.Record]:
    return c10d.read_line(Line("log", 1, text, Identity(rank=rank)))


def only(text: str, rank: int | None = None) -> c10d.Record:
    (record,) = read(text, rank)
    return record


@pytest.mark.parametrize(
    ("text", "rank", "group", "group_rank"),
    [
        (f"[rank3]:[E512 10:00:00.1 ProcessGroupNCCL.cpp:632] [Rank 3] {CAUGHT}", 3, "", 3),
        (f"[rank9]:[E512 10:00:00.1 ProcessGroupNCCL.cpp:632] [Rank 1] {CAUGHT}", 9, "", 1),
        (f"[E ProcessGroupNCCL.cpp:474] [Rank 3] {CAUGHT}", None, "", 3),
        (f"  what():  [Rank 3] {CAUGHT}", None, "", 3),
        (f"[rank13]:[E909 ProcessGroupNCCL.cpp:1515] [PG 0 (default_pg) Rank 13] {CAUGHT}", 13, "0", 13),
        (f"[rank2]:[E1] [PG ID 4 PG GUID 9(TENSOR) Rank 0] {CAUGHT}", 2, "9", 0),
        (f"[rank2]:[E1] [PG ID 4 PG GUID 9 Rank 0] {CAUGHT}", 2, "9", 0),
        (f"[rank3[]:[E508 1] [PG 1 Rank 3] {CAUGHT}", 3, "1", 3),
    ],
)
def test_rank_of_the_job_and_rank_in_the_group_are_two_things(
    text: str, rank: int | None, group: str, group_rank: int
) -> None:
    record = only(text)
    assert isinstance(record, Stuck)
    assert (record.rank, record.group, record.group_rank) == (rank, group, group_rank)
    assert (record.seq, record.op, record.limit, record.ran) == (12, "ALLREDUCE", 600.0, 600.02)


def test_prefix_of_the_launcher_is_the_rank_unless_it_may_be_that_in_the_group() -> None:
    other, same = only(f"[Rank 1] {CAUGHT}", rank=5), only(f"[Rank 1] {CAUGHT}", rank=1)
    assert isinstance(other, Stuck)
    assert isinstance(same, Stuck)
    assert (other.rank, same.rank) == (5, None)


def test_a_cut_timeout_is_one() -> None:
    assert only("[rank3]:[E ProcessGroupNCCL.cpp:563] [Rank 3] Watchdog caught collective") == Stuck(
        Line("log", 1, "[rank3]:[E ProcessGroupNCCL.cpp:563] [Rank 3] Watchdog caught collective"), 3, 3
    )


def test_old_timeout_has_no_number() -> None:
    record = only(
        "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(OpType=BROADCAST, TensorShape=[1], "
        "Timeout(ms)=1800000) ran for 1804406 milliseconds before timing out."
    )
    assert isinstance(record, Stuck)
    assert (record.seq, record.op, record.elements, record.limit) == (None, "BROADCAST", 1, 1800.0)


@pytest.mark.parametrize(
    "said",
    [
        "Exception (either an error or timeout) detected by watchdog at work: 31, "
        "last enqueued NCCL work: 33, last completed NCCL work: 30.",
        "Timeout at NCCL work: 31, last enqueued NCCL work: 33, last completed NCCL work: 30.",
        " failure detected by watchdog at work sequence id: 31 PG status: last enqueued work: 33, "
        "last completed work: 30",
    ],
)
def test_state_of_the_group_is_read(said: str) -> None:
    stuck, status = read(f"[rank6]:[E1] [PG ID 0 PG GUID 0(default_pg) Rank 6] {said}")
    assert isinstance(stuck, Stuck)
    assert isinstance(status, Status)
    assert (stuck.seq, status.enqueued, status.completed, status.rank) == (31, 33, 30, 6)


def test_dump_signal_tells_how_far_its_rank_came() -> None:
    status = only(
        "[rank2]:[E1] [PG ID 0 PG GUID 0(default_pg) Rank 2] Received a dump signal due to a "
        "collective timeout from  rank 6 and we will try. Last enqueued NCCL work: -1, "
        "last completed NCCL work: -1.This is most likely"
    )
    assert isinstance(status, Status)
    assert (status.enqueued, status.group) == (-1, "0")


def test_gloo_timeout() -> None:
    record = only(
        "RuntimeError: [gloo/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv operation to complete"
    )
    assert isinstance(record, Stuck)
    assert record.limit == 1800.0


def test_fingerprints_even_when_cut() -> None:
    text = (
        "Detected mismatch between collectives on ranks. Rank 3 is running collective: CollectiveFingerPrint("
        "SequenceNumber=7, OpType=ALLREDUCE, TensorShape=[4, 2], TensorDtypes=Float), but Rank 0 is running "
        "collective: CollectiveFingerPrint(SequenceNumber=7, OpType=BROADCAST, Tens"
    )
    first, second = read(text)
    assert isinstance(first, Running)
    assert isinstance(second, Running)
    assert (first.rank, first.op, first.shape) == (3, "ALLREDUCE", "4, 2")
    assert (second.rank, second.op, second.shape) == (0, "BROADCAST", None)


@pytest.mark.parametrize(
    ("text", "how", "ranks", "seq"),
    [
        ("   - [1,3] joined but didn't finish collective #5 (count from 1)", "joined", (1, 3), 5),
        (
            "     [2] finished collective #4, but didn't join collective #5 (count from 1)",
            "finished",
            (2,),
            4,
        ),
        (
            "ranks [4, 5] are the lagging ranks that caused this timeout. They never joined",
            "never",
            (4, 5),
            None,
        ),
        ("[Rank 0]: Ranks 1, 5 failed to pass monitoredBarrier in 60000 ms", "barrier", (1, 5), None),
        ("[Rank 0]: Rank 2 failed to pass monitoredBarrier in 60000 ms", "barrier", (2,), None),
        ("Rank 0 reported that ranks 2, 5 failed to pass monitoredBarrier", "barrier", (2, 5), None),
    ],
)
def test_named_ranks(text: str, how: str, ranks: tuple[int, ...], seq: int | None) -> None:
    record = only(text)
    assert isinstance(record, Named)
    assert (record.how, record.ranks, record.seq) == (how, ranks, seq)


def test_late_root_is_late_only_by_a_timeout() -> None:
    said = (
        "[5] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d, but got error: "
    )
    record = only(said + "Socket Timeout")
    assert isinstance(record, LateRoot)
    assert (record.rank, record.root) == (5, 0)
    assert read(said + "Connection reset by peer") == []


def test_ranks_are_spelled_short() -> None:
    assert c10d.spelled([5, 1, 2]) == "1, 2, 5"
    assert c10d.spelled(range(63)) == "0-62"


FRAGMENTS = st.sampled_from(
    [
        *(
            "[rank3]:",
            "[Rank 3] ",
            "[PG ID 1 PG GUID 4(TP) Rank ",
            "Watchdog caught collective",
            WORK,
            "\x1b[0m",
            "é",
        ),
        *(
            "ran for 3 milliseconds",
            "at work: ",
            "last enqueued work: 9, last completed work: 8",
            "CollectiveFingerPrint(",
        ),
        *(
            "Rank 1 is running collective: ",
            "[1,2",
            "] finished collective #",
            "ncclUniqueId",
            "9" * 400,
            "[" * 50,
        ),
        *(
            "failed to pass monitoredBarrier",
            "Timed out waiting 9ms for recv operation",
            ", " * 200,
            " ran for ",
        ),
    ]
)


@given(st.lists(st.one_of(FRAGMENTS, st.text(max_size=30)), max_size=30).map("".join))
def test_any_text_gives_bounded_records(text: str) -> None:
    assert len(read(text)) <= 64
