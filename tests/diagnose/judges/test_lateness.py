"""What the missing rank was doing while the others waited, and when it is nobody in particular."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.diagnose.judges import lateness
from evenpace.diagnose.lines import read_lines
from evenpace.diagnose.model import Case, Sighting, Source


def judged(*texts: str) -> list[Sighting]:
    names = [f"log{number}" for number in range(len(texts))]
    lines = [line for name, text in zip(names, texts, strict=True) for line in read_lines(name, text)]
    return list(lateness.judge(Case(tuple(Source(name) for name in names), tuple(lines))))


def caught(rank: int, at: str = "", limit: int = 600) -> str:
    work = f"WorkNCCL(SeqNum=31, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)={limit}000)"
    said = f"Watchdog caught collective operation timeout: {work} ran for {limit}020 milliseconds"
    return f"{at}[rank{rank}]:[E ProcessGroupNCCL.cpp:563] [Rank {rank}] {said}"


STEP = "2025-03-01T10:00:00Z step 500: loss 2.31"
SAVE = "2025-03-01T10:00:05Z Saving checkpoint to /ckpt/run"
LATE = caught(5, "2025-03-01T10:10:07Z ")


@pytest.mark.parametrize(
    "save",
    [
        "Saving latest checkpoint model trained for 3 complete epochs",
        "Saving model checkpoint to ./out/checkpoint-500",
        "Saving the checkpoint",
        "INFO:x:Saving checkpoint. This may take some time. Retrieving full model state dict...",
        "Saving Model Weights to /x",
        "Gathering full state_dict",
    ],
)
def test_an_open_save_of_one_rank(save: str) -> None:
    (one,) = judged(f"{STEP}\n{save}\n{LATE}")
    assert (one.signature, one.culprit.rank, one.victims[0].rank) == ("full-save-stalled", 0, 5)


@pytest.mark.parametrize(
    "save",
    [
        "saving checkpoint at iteration    4000 to /ckpt in torch_dist format",
        "[INFO] [Torch] Saving /ckpt/global_step500/zero_pp_rank_3_mp_rank_00_optim_states.pt...",
        "Saving sharded model state dict",
    ],
)
def test_an_open_save_of_all_ranks_names_nobody(save: str) -> None:
    (one,) = judged(f"{STEP}\n{save}\n{LATE}")
    assert one.signature == "sharded-save-stalled"
    assert not one.culprit


@pytest.mark.parametrize(
    "end",
    [
        "successfully saved checkpoint from iteration    4000 to /ckpt",
        "Finished saving the checkpoint (or staging if async is enabled) in 12.34 seconds.",
        "Saving checkpoint took 31.2 secs",
        "Checkpoint saved to /ckpt/run/step500",
        "Model checkpoint of size 2.4 GiB saved to /ckpt/model.pt",
        "2025-03-01T10:00:09Z step 501: loss 2.30",
        "{'loss': 2.3, 'learning_rate': 1e-5, 'epoch': 0.2}",
    ],
)
def test_a_save_that_ended_or_training_that_went_on_is_no_cause(end: str) -> None:
    assert judged(f"{STEP}\n{SAVE}\n{end}\n{LATE}") == []


def test_a_save_that_began_long_after_the_wait_is_no_cause() -> None:
    assert judged(f"{STEP}\n2025-03-01T10:09:00Z Saving checkpoint to /ckpt/run\n{LATE}") == []


def test_rank_0_that_waits_too_is_not_blamed() -> None:
    (one,) = judged(f"{STEP}\n{SAVE}\n{caught(0)}\n{caught(5)}")
    assert not one.culprit


def test_the_rank_that_prints_the_save_is_the_one() -> None:
    (one,) = judged(f"{STEP}\n[rank8]: Saving checkpoint to /ckpt/run\n{caught(5)}")
    assert one.culprit.rank == 8


def test_a_save_in_the_log_of_another_rank_counts() -> None:
    (one,) = judged(f"{STEP}\n{SAVE}", caught(5, "2025-03-01T10:10:07Z "))
    assert one.culprit.rank == 0


BAR = "{label}:  34%|███▍      | 340000/1000000 [09:40<18:46, 586.2 examples/s]"


@pytest.mark.parametrize(
    "label",
    [
        "Running tokenizer on train dataset",
        "Map",
        "Map (num_proc=4)",
        "Filter",
        "Generating train split",
        "Indexing",
    ],
)
def test_own_work_of_a_rank_with_a_prefix(label: str) -> None:
    (one,) = judged("[rank2]: " + BAR.format(label=label) + "\n" + caught(0) + "\n" + caught(1))
    assert (one.signature, one.culprit.rank) == ("rank-late-preprocessing", 2)


def test_own_work_of_a_rank_that_gave_up_itself_names_nobody() -> None:
    (one,) = judged("[rank1]: " + BAR.format(label="Map") + "\n" + caught(0) + "\n" + caught(1))
    assert (one.signature, bool(one.culprit)) == ("preprocessing-outlasts-timeout", False)


def test_the_only_rank_of_a_known_world_that_does_not_report_is_late() -> None:
    late = "\n".join(caught(rank) for rank in range(8) if rank != 6)
    (one,) = judged("world size: 8\n" + BAR.format(label="Map") + "\n" + late)
    assert one.culprit.rank == 6


def test_several_ranks_that_do_not_report_name_nobody() -> None:
    (one,) = judged("world size: 8\n" + BAR.format(label="Map") + "\n" + caught(3))
    assert not one.culprit


@pytest.mark.parametrize(
    "before",
    [
        "Epoch 0:  12%|█▏        | 340/2833 [09:40<18:46,  1.70s/it, loss=2.1]",
        " 12%|█▏        | 340/2833 [02:19<18:46,  6.03s/it]",
        "Map: 100%|██████████| 1000/1000 [00:10<00:00, 99.0 examples/s]",
        "Map:  30%|███       | 300/1000 [00:10<00:23, 30.0 examples/s]\n{'loss': 2.3, 'epoch': 0.1}",
        "> building dataset index ...\n > elasped time to build: 0.1\n>>> done with dataset index builder.",
    ],
)
def test_training_and_finished_work_are_no_cause(before: str) -> None:
    assert judged(before + "\n" + caught(3)) == []


def test_a_bar_without_a_name_that_ran_as_long_as_the_others_waited() -> None:
    bar = " 41%|████      | 4100/10000 [10:02<14:27,  6.8it/s]"
    (one,) = judged(bar + "\n" + caught(3))
    assert one.signature == "preprocessing-outlasts-timeout"
    assert one.certainty is not None
    assert one.certainty < 0.6


def test_megatron_says_which_rank_builds() -> None:
    text = " > WARNING: could not find index map files, building the indices on rank 0 ...\n" + caught(3)
    (one,) = judged(text)
    assert (one.signature, one.culprit.rank) == ("rank-late-preprocessing", 0)


def test_all_that_waited_were_not_late() -> None:
    late = "\n".join(caught(rank) for rank in range(4))
    assert judged("world size: 4\n" + BAR.format(label="Map") + "\n" + late) == []


@pytest.mark.parametrize(
    "last",
    ["Loading model from /m", "Loading checkpoint shards:  50%|█████     | 2/4 [00:40<00:40, 20.1s/it]"],
)
def test_what_was_heard_last_is_a_hint_only(last: str) -> None:
    (one,) = judged(f"{last}\n{caught(3)}")
    assert one.signature == "own-work-was-last"
    assert judged("\n".join([last, *("a line" for _ in range(9)), STEP, caught(3)])) == []


def test_late_root_of_a_group_is_nobody_of_the_job() -> None:
    said = (
        "[1] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d, but got error: "
    )
    (one,) = judged("[rank5]: RuntimeError: " + said + "Socket Timeout")
    assert not one.culprit


def test_no_timeout_no_cause() -> None:
    assert judged(f"{STEP}\n{SAVE}") == []


PARTS = st.sampled_from(
    [
        STEP,
        SAVE,
        LATE,
        BAR.format(label="Map"),
        caught(0),
        "world size: 4",
        " 5%|",
        "| 3/",
        "[00:1<",
        "\r",
        "[rank1]: ",
    ]
)


@given(st.lists(st.one_of(PARTS, st.text(max_size=20)), max_size=20), st.sampled_from(["", "\n"]))
def test_any_text_is_judged(parts: list[str], between: str) -> None:
    assert len(judged(between.join(parts))) <= 4


def test_who_waits_for_a_gather_of_the_save_itself_does_not_make_rank_0_late() -> None:
    gather = LATE.replace("OpType=ALLREDUCE", "OpType=_ALLGATHER_BASE")
    (one,) = judged(f"{STEP}\n{SAVE}\n{gather}")
    assert one.signature == "sharded-save-stalled"
    assert not one.culprit


def test_a_rank_that_gathers_alone_after_the_others_have_left() -> None:
    gather = caught(0).replace("OpType=ALLREDUCE", "OpType=_ALLGATHER_BASE")
    text = (
        f"[rank1] training done, exiting\n[rank2] training done, exiting\n[rank0] saving the model\n{gather}"
    )
    (one,) = judged(text)
    assert (one.signature, one.culprit.rank) == ("save-gather-alone", 0)


def test_an_io_error_during_the_save_is_the_file_systems() -> None:
    failed = "[rank3]: checkpoint writer: [Errno 5] Input/output error"
    (one,) = judged(f"{STEP}\n{SAVE}\n{failed}\n{LATE}")
    assert (one.signature, one.culprit.rank) == ("save-io-error", 3)


def test_a_rank_that_counts_its_own_work_aloud() -> None:
    counting = "".join(f"Rank 0 scoring document {number} / 900\n" for number in (70, 71))
    (one,) = judged(f"{counting}{caught(1)}\nRank 0 scoring document 72 / 900\n{caught(2)}")
    assert (one.signature, one.culprit.rank) == ("rank-late-preprocessing", 0)


def test_who_reached_a_monitored_barrier_is_not_late() -> None:
    bar = "Map (num_proc=4):  40%|████      | 40000/100000 [30:00<45:00, 22.2 examples/s]"
    waits = "".join(
        f"\nRuntimeError: Rank {rank} successfully reached monitoredBarrier, but received errors while "
        "waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank."
        for rank in (1, 2)
    )
    (one,) = judged(bar + waits)
    assert (one.signature, one.culprit.rank) == ("rank-late-preprocessing", 0)
