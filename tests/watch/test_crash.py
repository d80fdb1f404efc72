"""Crashes: the first cause is named, victims and the program's own errors are not blamed on a node."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.collect.job.logs import LogLine
from evenpace.terms import term
from evenpace.watch.crash import WorkerEnd, is_consequence, judge_agent, judge_crash
from evenpace.watch.worker import WorkerId

LOST_PEER = "RuntimeError: [/gloo/pair.cc:534] Connection closed by peer [127.0.0.1]:31245"


def worker(rank: int) -> WorkerId:
    return WorkerId(rank=rank, local_rank=0, node=f"node{rank}", pid=1000 + rank)


def victim(rank: int, at: float = 11.0) -> WorkerEnd:
    return WorkerEnd(worker(rank), "exception", at, exception=LOST_PEER)


def victims(culprit: int, world: int = 4) -> list[WorkerEnd]:
    return [victim(rank) for rank in range(world) if rank != culprit]


def test_a_killed_rank_is_named_and_the_others_are_victims() -> None:
    killed = WorkerEnd(worker(2), "killed", 10.0, code=-9, signal="SIGKILL")
    finding = judge_crash([killed, *victims(2)])
    assert finding is not None
    assert (finding.fault, finding.subject.rank, finding.subject.node) == ("worker-killed", 2, "node2")
    assert [one.rank for one in finding.victims] == [0, 1, 3]
    assert finding.advice


def test_an_exception_of_its_own_is_named_even_where_the_others_report_later_and_louder() -> None:
    raised = WorkerEnd(worker(1), "exception", 12.0, exception="KeyError: 'label'\n  File train.py, line 3")
    finding = judge_crash([*victims(1), raised])
    assert finding is not None
    assert (finding.fault, finding.subject.rank) == ("user-code-exception", 1)
    assert "KeyError" in finding.summary


def test_the_same_error_on_all_ranks_blames_the_program() -> None:
    ends = [
        WorkerEnd(worker(r), "exception", 10.0 + r / 10, exception=f"ValueError: bad step 1{r}")
        for r in range(4)
    ]
    finding = judge_crash(ends)
    assert finding is not None
    assert not finding.names_culprit
    assert finding.phrase == "crash-software-wide"


def test_ranks_of_one_node_that_alone_fail_alike_name_the_node() -> None:
    mine = [WorkerId(rank=r, local_rank=r % 2, node="node0", pid=r) for r in (0, 1)]
    ends = [
        WorkerEnd(one, "exception", 10.0, exception="RuntimeError: uncorrectable ECC error") for one in mine
    ]
    finding = judge_crash([*ends, *(victim(rank) for rank in range(2, 8))])
    assert finding is not None
    assert (finding.subject.kind, finding.subject.node, finding.subject.rank) == ("node", "node0", [0, 1])


def test_the_same_error_on_a_few_ranks_of_several_nodes_names_nobody() -> None:
    ends = [WorkerEnd(worker(r), "exception", 10.0, exception="ValueError: bad") for r in (0, 1)]
    finding = judge_crash([*ends, *(victim(rank) for rank in range(2, 8))])
    assert finding is not None
    assert finding.phrase == "crash-several"
    assert not finding.names_culprit


def test_an_abort_among_lost_connections_is_a_victim_where_another_vanished() -> None:
    gone = WorkerEnd(worker(3), "gone", 11.0)
    aborted = WorkerEnd(worker(0), "killed", 11.4, code=-6, signal="SIGABRT")
    finding = judge_crash([aborted, gone, victim(1, 11.5), victim(2, 11.5)])
    assert finding is not None
    assert finding.subject.rank == 3


def test_an_abort_whose_log_tells_of_a_lost_peer_names_nobody() -> None:
    said = LogLine("node0.log", 9, "terminate called: Connection closed by peer")
    aborted = WorkerEnd(worker(0), "killed", 11.4, code=-6, signal="SIGABRT", lines=(said,))
    finding = judge_crash([aborted, victim(1), victim(2)])
    assert finding is not None
    assert not finding.names_culprit


def test_an_abort_of_its_own_is_named() -> None:
    finding = judge_crash(
        [WorkerEnd(worker(0), "killed", 10.0, code=-6, signal="SIGABRT"), victim(1), victim(2)]
    )
    assert finding is not None
    assert (finding.subject.rank, finding.details["signal"]) == (0, "SIGABRT")


@pytest.mark.parametrize("ranks", [(0,), (0, 1, 2, 3)])
def test_an_interrupt_from_the_keyboard_is_no_finding(ranks: tuple[int, ...]) -> None:
    ends = [
        WorkerEnd(worker(r), "exception", 10.0, exception="KeyboardInterrupt: ") if r in ranks else victim(r)
        for r in range(4)
    ]
    assert judge_crash(ends) is None


def test_two_of_four_with_the_same_error_blame_the_program() -> None:
    ends = [WorkerEnd(worker(r), "exception", 10.0, exception="ValueError: bad") for r in (0, 1)]
    finding = judge_crash([*ends, victim(2), victim(3)])
    assert finding is not None
    assert not finding.names_culprit


def test_different_errors_at_once_name_nobody() -> None:
    ends = [
        WorkerEnd(worker(0), "exception", 10.0, exception="ValueError: a"),
        WorkerEnd(worker(1), "exception", 10.2, exception="KeyError: b"),
    ]
    finding = judge_crash(ends)
    assert finding is not None
    assert not finding.names_culprit
    assert finding.missing


def test_a_clearly_earlier_error_is_the_first_cause() -> None:
    ends = [
        WorkerEnd(worker(0), "exception", 15.0, exception="ValueError: a"),
        WorkerEnd(worker(1), "exception", 10.0, exception="KeyError: b"),
    ]
    finding = judge_crash(ends)
    assert finding is not None
    assert finding.subject.rank == 1


def test_only_consequences_name_nobody() -> None:
    finding = judge_crash(victims(9))
    assert finding is not None
    assert finding.fault == "unexplained-failure"
    assert not finding.names_culprit


def test_who_vanished_before_the_others_lost_it_is_named() -> None:
    finding = judge_crash([WorkerEnd(worker(3), "gone", 11.2), *victims(3)])
    assert finding is not None
    assert finding.subject.rank == 3


def test_who_vanished_long_after_the_others_failed_is_not_named() -> None:
    finding = judge_crash([WorkerEnd(worker(3), "gone", 20.0), *victims(3)])
    assert finding is not None
    assert not finding.names_culprit


def test_an_orderly_end_is_no_finding() -> None:
    assert judge_crash([WorkerEnd(worker(r), "clean", 10.0, code=0) for r in range(4)]) is None


def test_a_stopped_job_is_no_finding() -> None:
    assert (
        judge_crash([WorkerEnd(worker(r), "killed", 1.0, code=-15, signal="SIGTERM") for r in range(4)])
        is None
    )


def test_who_left_while_the_others_waited_is_named() -> None:
    left = WorkerEnd(worker(0), "clean", 9.0, code=0, owed_collective=True)
    finding = judge_crash([left, *victims(0)])
    assert finding is not None
    assert (finding.fault, finding.subject.rank) == ("collective-desync", 0)


def test_an_exit_code_is_a_cause() -> None:
    finding = judge_crash([WorkerEnd(worker(0), "clean", 9.0, code=3), *victims(0)])
    assert finding is not None
    assert finding.details["code"] == 3


@pytest.mark.parametrize(
    "headline",
    [
        LOST_PEER,
        "RuntimeError: [enforce fail] Timed out waiting 1800000ms for recv operation to complete",
        "torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error",
        "torch.distributed.elastic.multiprocessing.api.SignalException: Process 12 got signal: 15",
    ],
)
def test_words_of_a_lost_peer_are_consequences(headline: str) -> None:
    assert is_consequence(headline)


@pytest.mark.parametrize("headline", ["KeyError: 'x'", "torch.OutOfMemoryError: CUDA out of memory", ""])
def test_other_errors_are_not(headline: str) -> None:
    assert not is_consequence(headline)


def test_a_killed_agent_is_a_lost_node() -> None:
    finding = judge_agent("node1", -9, "SIGKILL", [], 10.0)
    assert (finding.fault, finding.subject.kind, finding.subject.node) == ("node-lost", "node", "node1")


def test_an_agent_that_never_started_its_workers_blames_nobody() -> None:
    finding = judge_agent("node1", 1, "", [], 10.0)
    assert not finding.names_culprit


ENDS = st.sampled_from(["clean", "exception", "killed", "gone", "alive"])
WORDS = st.sampled_from([LOST_PEER, "KeyError: 1", "ValueError: 2", ""])
SIGNALS = st.sampled_from(["SIGKILL", "SIGSEGV", "SIGTERM", ""])


@given(st.lists(st.tuples(ENDS, WORDS, SIGNALS, st.floats(0, 30)), max_size=8), st.randoms())
def test_any_ends_are_judged_alike_in_any_order(
    parts: list[tuple[str, str, str, float]], shuffle: random.Random
) -> None:
    ends = [
        WorkerEnd(worker(rank), how, at, exception=words, signal=signal)
        for rank, (how, words, signal, at) in enumerate(parts)
    ]
    shuffled = ends.copy()
    shuffle.shuffle(shuffled)
    one, other = judge_crash(ends), judge_crash(shuffled)
    assert (one is None) == (other is None)
    if one is not None and other is not None:
        assert one.subject == other.subject
        assert term("fault", one.fault)
        assert all(end.how != "alive" for end in ends if end.worker.rank == one.subject.rank)


def test_the_same_exit_code_everywhere_is_told_as_such() -> None:
    finding = judge_crash([WorkerEnd(worker(r), "clean", 9.0, code=7) for r in range(2)])
    assert finding is not None
    assert finding.phrase == "crash-software-wide"
    assert finding.details["exception"] == "exit code 7"
