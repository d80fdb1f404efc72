"""Ranks with different numbers of batches: counted, or likely."""

from __future__ import annotations

from tests.diagnose.judges.seen import seen

from evenpace.diagnose.judges.batches import judge

TIMEOUT = "[rank1]:[E] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9)"


def test_rank_with_fewer_batches_than_all_others_is_named() -> None:
    counts = "\n".join(f"[rank{rank}] loader has {40 if rank == 2 else 42} batches" for rank in range(4))
    (one,) = seen(judge, f"{counts}\n{TIMEOUT}")
    assert (one.signature, one.culprit.rank) == ("uneven-batches", 2)
    assert (one.captures["few"], one.captures["many"]) == ("40", "42")


def test_equal_counts_or_no_hang_say_nothing() -> None:
    counts = "\n".join(f"rank {rank}: num_batches={{}}" for rank in range(3))
    assert seen(judge, f"{counts.format(7, 7, 7)}\n{TIMEOUT}") == []
    assert seen(judge, counts.format(7, 8, 7)) == []


def test_data_without_a_length_are_a_hint_that_names_nobody() -> None:
    (one,) = seen(judge, f"EPOCH 0 BATCH 30/inf(0.00%): loss=1.0\n{TIMEOUT}")
    assert (one.signature, bool(one.culprit)) == ("uneven-batches-likely", False)


def test_preparing_data_is_another_matter() -> None:
    assert seen(judge, f"Running tokenizer on dataset: 3%\n5/inf\n{TIMEOUT}") == []
