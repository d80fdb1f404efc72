"""Whose exception is a cause: one rank's own, the program's, or nobody's."""

from __future__ import annotations

import pytest
from tests.diagnose.judges.seen import seen

from evenpace.diagnose.judges import exceptions
from evenpace.diagnose.model import Case, Sighting


def judge(case: Case) -> list[Sighting]:
    """Return what is seen besides the exceptions that only follow."""
    return [one for one in exceptions.judge(case) if one.signature != "exit-exception"]


def raised(kind: str, rank: int | None = None, file: str = "/srv/own/step.py") -> str:
    prefix = "" if rank is None else f"[rank{rank}]: "
    lines = ["Traceback (most recent call last):", f'  File "{file}", line 7, in forward', "    x", kind]
    return "\n".join(prefix + line for line in lines)


def test_exception_of_one_rank_names_it() -> None:
    lost = raised("torch.distributed.DistBackendError: NCCL error in: x.cpp:1, remote process exited", 1)
    (one,) = seen(judge, f"{lost}\n{raised('AssertionError: too long', 6)}")
    assert (one.signature, one.culprit.rank) == ("rank-exception", 6)
    assert one.captures["file"] == "/srv/own/step.py"
    assert one.lines[0].text.endswith("AssertionError: too long")


def test_same_exception_of_several_ranks_is_the_programs() -> None:
    (one,) = seen(judge, "\n".join(raised("ValueError: bad shape", rank) for rank in range(4)))
    assert (one.signature, bool(one.culprit)) == ("program-exception", False)


def test_exception_without_a_rank_names_nobody() -> None:
    (one,) = seen(judge, raised("ValueError: bad shape"))
    assert (one.signature, bool(one.culprit)) == ("program-exception", False)


def test_exception_of_a_package_is_weaker() -> None:
    (one,) = seen(judge, raised("ValueError: x", 1, "/opt/venv/lib/python3.11/site-packages/pkg/a.py"))
    assert (one.signature, bool(one.culprit)) == ("library-exception", False)
    (one,) = seen(judge, raised("pkg.errors.OddThing: x", 1))
    assert one.signature == "library-exception"


@pytest.mark.parametrize(
    "kind",
    [
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        "torch.distributed.elastic.multiprocessing.api.SignalException: Process 5 got signal: 15",
        "ConnectionResetError: [Errno 104] Connection reset by peer",
        "BrokenPipeError: [Errno 32] Broken pipe",
        "KeyboardInterrupt",
        "RuntimeError: [1] is setting up NCCL communicator and retrieving ncclUniqueId from [0]",
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        "torch.OutOfMemoryError: CUDA out of memory.",
        "OSError: [Errno 28] No space left on device",
        "RuntimeError: DataLoader worker (pid 9) is killed by signal: Killed.",
        "KeyError: Caught KeyError in DataLoader worker process 2.",
        "RuntimeError: received 0 items of ancdata",
    ],
)
def test_exception_that_follows_or_belongs_elsewhere_is_left_alone(kind: str) -> None:
    assert seen(judge, raised(kind, 3)) == []


def test_exception_after_the_job_was_stopped_follows_from_that() -> None:
    stopped = "Received 15 death signal, shutting down workers\n"
    after = seen(exceptions.judge, stopped + raised("RuntimeError: half a batch", 2))
    assert [one.signature for one in after] == ["exit-exception"]


def test_root_of_a_chain_decides() -> None:
    words = "During handling of the above exception, another exception occurred:"
    text = (
        f"{raised('ConnectionError: Connection reset by peer')}\n{words}\n{raised('ValueError: no answer')}"
    )
    assert seen(judge, text) == []


def test_exception_inside_json_names_its_rank() -> None:
    stack = "Traceback (most recent call last):\\n  File \\\"/srv/a.py\\\", line 3, in f\\nKeyError: 'labels'"
    inside = f'  "12": {{\n    "message": {{\n      "py_callstack": "{stack}"\n    }}\n  }}'
    text = f"job n7 restart 0 fails: {{\n{inside}\n}}"
    (one,) = seen(judge, text)
    assert (one.signature, one.culprit.rank, one.culprit.host) == ("rank-exception", 12, "n7")


def test_exception_that_training_survived_is_no_cause() -> None:
    steps = "\n".join(f"step {at} loss 2.1" for at in range(6))
    assert seen(judge, raised("ValueError: upload failed") + "\n" + steps) == []
    assert seen(judge, steps + "\n" + raised("ValueError: bad shape"))


def test_lost_connection_is_told_as_a_consequence() -> None:
    lost = raised("ConnectionResetError: [Errno 104] Connection reset by peer", 1)
    assert [one.signature for one in seen(exceptions.judge, lost)] == ["exit-exception"]
    assert seen(exceptions.judge, raised("RuntimeError: CUDA error: misaligned address", 1)) == []


def test_a_type_error_is_no_word_about_a_peer() -> None:
    text = '[rank2]: Traceback (most recent call last):\n[rank2]:   File "/home/me/train.py", line 3, in f\n'
    (one,) = seen(judge, text + "[rank2]: TypeError: unhashable type: 'list'\n")
    assert (one.signature, one.culprit.rank) == ("rank-exception", 2)
