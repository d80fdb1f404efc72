"""Trouble after the end of training is no failure; before it, or in the last save, it is."""

from __future__ import annotations

import pytest
from tests.diagnose.judges.seen import seen

from evenpace.diagnose.judges.ended import judge

HEARTBEAT = "[rank2]: ProcessGroupNCCL's watchdog got stuck for 600 seconds without making progress"
TIMEOUT = "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE)"


@pytest.mark.parametrize(
    "done",
    [
        "Training completed. Do not forget to share your model",
        "`Trainer.fit` stopped: `max_steps=1000` reached.",
        "[after training is done] datetime: 2026-02-03 04:05:06",
        "Train: 100%|##########| 40/40 [01:00<00:00, 1.50s/it]",
        "{'train_runtime': 912.4, 'train_loss': 1.2}",
    ],
)
def test_trouble_after_the_end_is_no_failure(done: str) -> None:
    (one,) = seen(judge, f"step 40 loss 1.0\n{done}\nsaved model to /out\n{HEARTBEAT}")
    assert (one.signature, bool(one.culprit)) == ("trouble-after-the-end", False)


def test_trouble_before_the_end_is_left_to_others() -> None:
    assert seen(judge, f"{TIMEOUT}\nTraining completed.\n{HEARTBEAT}") == []


def test_training_that_goes_on_had_not_ended() -> None:
    assert seen(judge, f"stage 1: training finished\nstep 7 loss 1.0\n{HEARTBEAT}") == []


def test_collective_that_times_out_may_be_the_last_save() -> None:
    assert seen(judge, f"Training completed.\nsaving final model to /out\n{TIMEOUT}") == []
    assert seen(judge, f"Training completed.\nmodel saved in /out\n{TIMEOUT}")


def test_bar_that_is_not_full_is_no_end() -> None:
    assert seen(judge, f"Train: 100%|##########| 39/40 [01:00<00:00, 1.50s/it]\n{HEARTBEAT}") == []


def test_kernel_trouble_in_another_file_is_not_explained_away() -> None:
    assert seen(judge, f"Training completed.\n{HEARTBEAT}", "NVRM: Xid (PCI:0000:3b:00): 79") == []
