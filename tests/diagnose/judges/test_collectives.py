"""Who is out of step or missing: by majority within one group, or by a report that names them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.diagnose.judges import collectives, lateness, recorder
from evenpace.diagnose.judges.collectives import majority
from evenpace.diagnose.lines import read_lines
from evenpace.diagnose.model import Case, Sighting, Source
from evenpace.diagnose.signature import Example, Signature, signatures

JUDGES = {"collectives": collectives.judge, "lateness": lateness.judge, "recorder": recorder.judge}
JUDGED = [one for one in signatures().values() if one.content.judge in JUDGES]


def case(*texts: str) -> Case:
    names = [f"log{number}" for number in range(len(texts))]
    lines = [line for name, text in zip(names, texts, strict=True) for line in read_lines(name, text)]
    return Case(tuple(Source(name) for name in names), tuple(lines))


def seen(*texts: str) -> dict[str, Sighting]:
    return {one.signature: one for one in collectives.judge(case(*texts))}


def caught(rank: int, seq: int, op: str = "ALLREDUCE", inside: int | None = None, size: int = 1) -> str:
    work = f"WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn={size}, NumelOut={size}, Timeout(ms)=600000)"
    said = f"Watchdog caught collective operation timeout: {work} ran for {600010 + rank} milliseconds"
    inside = rank if inside is None else inside
    return f"[rank{rank}]:[E512 10:00:00.{rank:06} ProcessGroupNCCL.cpp:632] [Rank {inside}] {said}"


def state(rank: int, group: str, inside: int, enqueued: int, completed: int) -> str:
    return (
        f"[rank{rank}]:[E512 10:00:01.{rank:06} ProcessGroupNCCL.cpp:1746] [PG ID 2 PG GUID {group} Rank "
        f"{inside}] Received a dump signal due to a collective timeout from  rank 0 and we will try. "
        f"Last enqueued NCCL work: {enqueued}, last completed NCCL work: {completed}."
    )


def at_work(rank: int, group: str, inside: int, seq: int) -> str:
    return (
        f"[rank{rank}]:[E512 10:00:00.9 ProcessGroupNCCL.cpp:2268] [PG ID 2 PG GUID {group} Rank {inside}]  "
        f"failure detected by watchdog at work sequence id: {seq} PG status: last enqueued work: {seq}, "
        f"last completed work: {seq - 1}"
    )


def of_example(signature: Signature, example: Example) -> list[Sighting]:
    judge = JUDGES[signature.content.judge or ""]
    found = [one for one in judge(case(example.text)) if one.signature == signature.id]
    return found or [
        one for name in JUDGES for one in JUDGES[name](case(example.text)) if one.signature == signature.id
    ]


EXAMPLES = [(one, example) for one in JUDGED for example in one.content.example]
MISSES = [(one, example) for one in JUDGED for example in one.content.near_miss]


@pytest.mark.parametrize(("signature", "example"), EXAMPLES, ids=lambda one: getattr(one, "id", ""))
def test_signature_is_seen_in_its_examples(signature: Signature, example: Example) -> None:
    found = of_example(signature, example)
    assert found
    rank = example.culprit.get("rank")
    assert found[0].culprit.rank == (tuple(rank) if isinstance(rank, list) else rank)


@pytest.mark.parametrize(("signature", "example"), MISSES, ids=lambda one: getattr(one, "id", ""))
def test_signature_is_not_seen_in_its_near_misses(signature: Signature, example: Example) -> None:
    assert not of_example(signature, example)


@pytest.mark.parametrize(("signature", "example"), EXAMPLES, ids=lambda one: getattr(one, "id", ""))
def test_titles_are_filled(signature: Signature, example: Example) -> None:
    one = of_example(signature, example)[0]
    details = {**one.captures, "rank": str(one.culprit.rank)}
    assert "<" not in signature.content.title.say("en", details)
    assert "<" not in signature.content.title.say("ko", details)


def test_majority() -> None:
    assert majority({0: "a", 1: "b", 2: "b"}) == ("b", (0,))
    assert majority({0: "a", 1: "b"}) is None
    assert majority({0: "a", 1: "a", 2: "b", 3: "b"}) is None
    assert majority({0: "a", 1: "a", 2: "a"}) is None
    assert majority({0: "a", 1: "b", 2: "b"}, size=64) is None


def test_one_of_sixty_four_is_silent() -> None:
    text = "\n".join(["world size: 64", *(caught(rank, 811) for rank in range(64) if rank != 17)])
    one = seen(text)["one-rank-silent"]
    assert one.culprit.rank == 17
    assert len(one.lines) <= 8


def test_a_gap_in_the_ranks_is_told_and_accuses_nobody() -> None:
    one = seen("\n".join(caught(rank, 811) for rank in (0, 1, 3, 4)))["one-rank-silent"]
    assert one.captures["ranks"] == "2"
    assert not one.culprit
    assert one.certainty == 0.3
    assert seen("\n".join(caught(rank, 811) for rank in range(4))) == {}


def test_gloo_has_no_numbers_but_shows_who_is_silent() -> None:
    said = "RuntimeError: [/gloo/tcp/unbound_buffer.cc:78] Timed out waiting 6000ms for {} operation"
    lines = [f"[rank{rank}]: " + said.format("send" if rank == 4 else "recv") for rank in (0, 1, 3, 4)]
    assert seen("\n".join(lines))["one-rank-silent"].captures["ranks"] == "2"


def test_one_barrier_in_several_lines_is_one() -> None:
    text = """[rank0]:[E1] [Rank 0]: Rank 1 failed to pass monitoredBarrier in 4000 ms
[rank0]:[E1] [Rank 0]: Rank 2 failed to pass monitoredBarrier in 4000 ms
[rank0]: RuntimeError: [Rank 0]: Ranks 1, 2 failed to pass monitoredBarrier in 4000 ms"""
    (one,) = collectives.judge(case("world size: 8\n" + text))
    assert one.culprit.rank == (1, 2)


def test_two_silent_ranks_are_not_guessed_at() -> None:
    assert seen("\n".join(["world size: 8", *(caught(rank, 811) for rank in range(6))])) == {}


def test_a_lone_timeout_says_nothing() -> None:
    assert seen("world size: 8\n" + caught(3, 811)) == {}


def test_ranks_in_groups_are_not_ranks_of_the_job() -> None:
    """Two tensor-parallel groups of four: in each, rank 1 of the group is two ahead."""
    lines = []
    for first, group in ((0, "3(TENSOR)"), (4, "7(TENSOR)")):
        for inside in range(4):
            seq = 92 if inside == 1 else 90
            lines += [caught(first + inside, seq, inside=inside), at_work(first + inside, group, inside, seq)]
    found = [one for one in collectives.judge(case("\n".join(lines))) if one.signature == "seqnum-minority"]
    assert [one.culprit.rank for one in found] == [1, 5]


def test_groups_have_numbers_of_their_own() -> None:
    """Data-parallel and tensor-parallel timeouts at once, equal within each group."""
    lines = []
    for rank in (0, 2, 4, 6):
        lines += [caught(rank, 31, inside=rank // 2), at_work(rank, "9(DATA)", rank // 2, 31)]
    for rank in (1, 3):
        lines += [
            caught(rank, 4077, "ALLGATHER", inside=rank // 2),
            at_work(rank, "4(TENSOR)", rank // 2, 4077),
        ]
    assert seen("\n".join(lines)) == {}


def test_old_ranks_in_groups_name_nobody() -> None:
    """Without the prefix of the job, `[Rank 0]` of several groups says nothing about the job's ranks."""
    lines = [caught(rank, 90 + rank % 3, inside=rank % 2).partition("] ")[2] for rank in range(8)]
    assert all(not one.culprit for one in seen("\n".join(lines)).values())


def test_who_says_that_it_came_less_far_is_missing() -> None:
    lines = [caught(rank, 301) for rank in range(3)] + [state(3, "0(default_pg)", 3, 300, 300)]
    one = seen("\n".join(lines))["rank-not-joined"]
    assert one.culprit.rank == 3
    assert one.victims[0].rank == (0, 1, 2)


def test_who_waits_in_another_group_is_not_missing() -> None:
    lines = [
        line for rank in (0, 1, 2) for line in (caught(rank, 301), at_work(rank, "0(default_pg)", rank, 301))
    ]
    lines += [state(3, "0(default_pg)", 3, 300, 300), caught(3, 77, inside=1), at_work(3, "5(PIPE)", 1, 77)]
    assert "rank-not-joined" not in seen("\n".join(lines))


def test_state_of_another_group_is_not_compared() -> None:
    lines = [line for rank in (0, 1, 2) for line in (caught(rank, 301), at_work(rank, "4(DATA)", rank, 301))]
    assert "rank-not-joined" not in seen("\n".join([*lines, state(3, "0(default_pg)", 3, 12, 12)]))


def test_an_unknown_state_is_none() -> None:
    lines = [caught(rank, 301) for rank in range(3)] + [state(3, "0(default_pg)", 3, -1, -1)]
    assert "rank-not-joined" not in seen("\n".join(lines))


def test_the_frame_of_the_user_is_named() -> None:
    stack = """[rank0]:[E1] Stack trace of the failed collective:
#0 all_reduce from /opt/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py:2501
#1 average from /home/me/trainer/metrics.py:48
#2 main from /home/me/train.py:9"""
    one = seen("\n".join((caught(0, 7), stack, caught(1, 8), caught(2, 8))))["seqnum-minority"]
    assert one.culprit.rank == 0
    assert (one.captures["where"], one.captures["caller"]) == ("/home/me/trainer/metrics.py:48", "average")


def test_fingerprints_of_a_group_name_nobody() -> None:
    fingerprint = "CollectiveFingerPrint(SequenceNumber=7, OpType=ALLREDUCE, TensorShape=[{}]"
    lines = [
        f"[rank{rank}]: RuntimeError: Detected mismatch between collectives on ranks. Rank {rank - 4} is "
        f"running collective: {fingerprint.format(64)}, "
        f"but Rank 0 is running collective: {fingerprint.format(32)}"
        for rank in (5, 6, 7)
    ]
    assert not seen("\n".join(lines))["collective-mismatch"].culprit


def test_all_that_joined_are_not_behind() -> None:
    text = f"{caught(0, 4)}\n   - [0,1] joined but didn't finish collective #5 (count from 1)"
    assert seen("world size: 2\n" + text).keys() == {"all-ranks-joined"}
    assert seen("world size: 8\n" + text)["desync-report"].culprit.rank == (0, 1)
    assert not seen("world size: 4\n" + text)["desync-report"].culprit, "half of the job is nobody"


REPORT = "     [1] finished collective #89, but didn't join collective #90 (count from 1)"


@pytest.mark.parametrize(
    ("said", "sequel"),
    [
        ("[rank1]: Traceback (most recent call last):\n[rank1]: KeyError: 'x'", True),
        ("[rank0]: KeyError: 'x'", False),
        ("[rank1]: Signal 11 (SIGSEGV) received by PID 71", True),
        ("[rank1]: Signal 15 (SIGTERM) received by PID 71", False),
        ("[rank1]: torch.distributed.DistBackendError: NCCL error in ProcessGroupNCCL.cpp", False),
    ],
)
def test_a_missing_rank_that_said_why_it_ended_is_explained_by_that(said: str, sequel: bool) -> None:
    one = seen(f"{said}\n{caught(0, 90)}\n{caught(2, 90)}\n{REPORT}")["desync-report"]
    assert (one.certainty is not None) is sequel


@given(
    st.lists(
        st.tuples(
            st.integers(0, 5),
            st.integers(0, 5),
            st.integers(0, 3),
            st.sampled_from(["ALLREDUCE", "SEND", "_x"]),
        ),
        max_size=12,
    )
)
def test_whoever_is_named_is_a_minority(mix: list[tuple[int, int, int, str]]) -> None:
    for one in collectives.judge(
        case("\n".join(caught(rank, seq, op, inside) for rank, inside, seq, op in mix))
    ):
        blamed = one.culprit.rank if isinstance(one.culprit.rank, tuple) else (one.culprit.rank,)
        waiting = one.victims[0].rank if one.victims else ()
        if one.culprit:
            assert len(blamed) < len(waiting if isinstance(waiting, tuple) else (waiting,))
