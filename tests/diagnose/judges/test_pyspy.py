"""Stacks of several ranks: who stands elsewhere."""

from __future__ import annotations

from tests.diagnose.judges.seen import seen

from evenpace.diagnose.judges.pyspy import judge

WAITS = "    all_reduce (torch/distributed/distributed_c10d.py:2050)\n    step (own.py:88)\n"
READS = "    read (own_reader.py:12)\n    step (own.py:60)\n"
LOADS = (
    "    get (queue.py:179)\n    _try_get_data (torch/utils/data/dataloader.py:990)\n"
    "    __next__ (torch/utils/data/dataloader.py:521)\n    step (own.py:60)\n"
)
WORKER = "    resize (own.py:9)\n    _worker_loop (torch/utils/data/_utils/worker.py:287)\n"


def dump(rank: int, frames: str, command: str = "python own.py") -> str:
    return f'RANK={rank}\nProcess {800 + rank}: {command}\nThread 0x7F (active): "MainThread"\n{frames}'


def test_rank_that_stands_elsewhere_is_the_suspect() -> None:
    (one,) = seen(judge, "".join(dump(rank, READS if rank == 2 else WAITS) for rank in range(4)))
    assert (one.signature, one.culprit.rank, one.captures["function"]) == ("pyspy-outlier", 2, "read")
    assert {victim.rank for victim in one.victims} == {0, 1, 3}


def test_two_that_stand_elsewhere_name_nobody() -> None:
    assert seen(judge, "".join(dump(rank, READS if rank > 1 else WAITS) for rank in range(4))) == []


def test_others_that_do_not_wait_prove_nothing() -> None:
    assert seen(judge, "".join(dump(rank, WAITS if rank == 2 else READS) for rank in range(4))) == []


def test_launcher_and_one_more_are_too_few() -> None:
    texts = [dump(0, WAITS), dump(1, READS), dump(2, READS, "python /usr/bin/torchrun own.py")]
    assert seen(judge, "".join(texts)) == []


def test_rank_without_a_batch_is_told_with_its_worker() -> None:
    (one,) = seen(judge, "".join([dump(0, WAITS), dump(1, LOADS), dump(9, WORKER)]))
    assert (one.signature, one.culprit.rank) == ("dataloader-stuck", 1)
    assert any("resize" in line.text for line in one.lines)
