"""Who died of itself, who was told to, and when only codes are known."""

from __future__ import annotations

import pytest
from tests.diagnose.judges.seen import seen

from evenpace.diagnose.judges.exits import judge


def table(*entries: tuple[int, int, str]) -> str:
    """Return torchrun's table of (rank, exit code, host); the last is what it calls the root cause."""
    told = [
        f"[{at}]:\n  time      : 2026-02-03_04:05:06\n  host      : {host}\n"
        f"  rank      : {rank} (local_rank: {rank})\n"
        f"  exitcode  : {code} (pid: {900 + rank})\n  error_file: <N/A>\n"
        f"  traceback : Signal {-code} received by PID {900 + rank}"
        for at, (rank, code, host) in enumerate(entries)
    ]
    *others, root = told
    return "\n".join(["Failures:", *others, "Root Cause (first observed failure):", root, "=" * 60])


def test_process_killed_without_a_word_is_named_and_memory_suspected() -> None:
    (one,) = seen(judge, table((1, -15, "n1"), (2, -6, "n1"), (3, -9, "n1")))
    assert one.signature == "sigkill-no-word"
    assert (one.culprit.rank, one.culprit.host, one.culprit.pid) == (3, "n1", 903)
    assert {victim.rank for victim in one.victims} == {1, 2}


def test_first_observed_abort_accuses_nobody() -> None:
    (one,) = seen(judge, table((1, -6, "n1"), (2, -6, "n1"), (0, -6, "n1")))
    assert one.signature == "exit-code-only"
    assert not one.culprit


@pytest.mark.parametrize(
    "word",
    [
        "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-02-03T04:05:06 DUE TO PREEMPTION ***",
        "Unable to shutdown process 903 via Signals.SIGTERM, forcefully exiting via Signals.SIGKILL",
        "Sending process 903 closing signal SIGTERM",
        "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some tasks have been OOM Killed.",
        "Received 15 death signal, shutting down workers",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
    ],
)
def test_kill_that_somebody_explains_is_not_guessed_at(word: str) -> None:
    found = seen(judge, f"{word}\n{table((3, -9, 'n1'))}")
    assert "sigkill-no-word" not in {one.signature for one in found}


def test_lost_connections_of_the_others_do_not_hide_a_kill() -> None:
    lost = "[rank1]: torch.distributed.DistBackendError: NCCL error, remote process exited"
    text = f"{lost}\n{table((3, -9, 'n1'))}"
    assert [one.signature for one in seen(judge, text)] == ["sigkill-no-word"]


def test_many_killed_at_once_accuse_nobody() -> None:
    (one,) = seen(judge, table(*((rank, -9, "n1") for rank in range(4))))
    assert (one.signature, one.culprit.rank) == ("sigkill-no-word", None)


@pytest.mark.parametrize(
    ("code", "name"), [(-11, "process-segfault"), (-4, "process-crash"), (-8, "process-crash")]
)
def test_only_crash_is_named(code: int, name: str) -> None:
    (one,) = seen(judge, table((1, -15, "n1"), (2, -15, "n1"), (3, code, "n1")))
    assert (one.signature, one.culprit.rank) == (name, 3)


def test_crash_of_most_ranks_is_the_program() -> None:
    (one,) = seen(judge, table((1, -11, "n1"), (2, -11, "n1"), (3, -11, "n1")))
    assert (one.signature, bool(one.culprit)) == ("crash-unnamed", False)


def test_bus_error_points_to_the_shared_memory_of_the_host() -> None:
    (one,) = seen(judge, table((1, -15, "n1"), (3, -7, "n1")))
    assert (one.signature, one.culprit.rank, one.culprit.host) == ("sigbus-exit", None, "n1")


def test_crash_in_nccl_is_told_apart() -> None:
    text = "kernel: python3[903]: segfault at 0 ip 00007f00 sp 00007f01 error 4 in libnccl.so.2[7f00+100]"
    (one,) = seen(judge, text)
    assert (one.signature, bool(one.culprit)) == ("segfault-in-nccl", False)


def test_nameless_crash_after_a_complaint_is_left_to_the_complaint() -> None:
    assert [one.signature for one in seen(judge, "Segmentation fault (core dumped)")] == ["crash-unnamed"]
    found = seen(judge, "n1:9:9 [0] NCCL WARN something is odd\nSegmentation fault (core dumped)")
    assert "crash-unnamed" not in {one.signature for one in found}


def test_container_killed_for_another_reason_than_its_limit() -> None:
    text = "    Last State:     Terminated\n      Reason:       Error\n      Exit Code:    137"
    assert [one.signature for one in seen(judge, text)] == ["sigkilled-container"]
    assert not [
        one for one in seen(judge, text.replace("Error", "OOMKilled")) if one.signature.startswith("sigkill")
    ]


def test_nothing_is_said_of_a_clean_end() -> None:
    assert seen(judge, "step 10 loss 1.2\n[INFO] [launch.py:347:main] Process 903 exits successfully.") == []


def test_code_that_no_exception_has_is_the_ranks_own() -> None:
    (one,) = seen(judge, table((0, -15, "n1"), (1, -15, "n1"), (2, 42, "n1")))
    assert (one.signature, one.culprit.rank, one.captures["code"]) == ("own-exit-code", 2, "42")
    (one,) = seen(judge, table((0, -15, "n1"), (1, 42, "n1"), (2, 42, "n1")))
    assert (one.signature, bool(one.culprit)) == ("exit-code-only", False)
