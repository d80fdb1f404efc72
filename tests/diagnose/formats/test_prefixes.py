"""Who printed a line, from what stands before it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.diagnose.formats import labels, prefixes
from evenpace.diagnose.lines import read_lines
from evenpace.diagnose.model import NOBODY, Identity


@pytest.mark.parametrize(
    ("line", "printer"),
    [
        ("[rank3]: Traceback (most recent call last):", Identity(rank=3)),
        ("[rank12]:[W1103 21:44:02.517330148 ProcessGroupNCCL.cpp:632] x", Identity(rank=12)),
        ("06:00:51.902 [rank2]: x", Identity(rank=2)),
        ("  | 2024-10-11T05:46:30.218Z | [rank3]:[E ProcessGroupNCCL.cpp:563] x", Identity(rank=3)),
        ("[default5]:  what():  CUDA error", Identity(local_rank=5)),
        ("[RANK: 2] hello", Identity(rank=2)),
        ("[default5]:[E ProcessGroupNCCL.cpp:4] [Rank 13] Watchdog", Identity(local_rank=5, rank=13)),
        ("[default5]:[E ProcessGroupNCCL.cpp:4] [Rank 1] Watchdog", Identity(local_rank=5)),
        ("[1,4]<stdout>:hello", Identity(rank=4)),
        ("[1,4]<stderr>: hello", Identity(rank=4)),
        ("[prterun-n-7-123@1,4]<stdout>:hello", Identity(rank=4)),
        ("[1,4]<stdout>:n-7:6615:6724 [0] NCCL INFO x", Identity(rank=4, host="n-7", pid=6615, gpu="0")),
        (
            "[2024-09-02 18:41:02,118] [INFO] [axolotl.load:280] [PID:51206] [RANK:1] EOS",
            Identity(local_rank=1, pid=51206),
        ),
        ("[rank: 3] Seed set to 42", Identity(rank=3)),
        ("[Rank 3] (after 10 iterations) memory (MB)", Identity(rank=3)),
        ("2024-10-11T05:14:46.118Z | pytorch_lightning - INFO - RANK 2 - on_train", Identity(rank=2)),
        ("(RayTrainWorker pid=30226, ip=10.3.9.41) x", Identity(pid=30226, host="10.3.9.41")),
        ("(pid=2217) x", Identity(pid=2217)),
        ("(WorkerDict pid=2217) [rank1]: x", Identity(pid=2217, rank=1)),
        ("(raylet, ip=10.3.9.41) x", Identity(host="10.3.9.41")),
        ("(raylet) x", NOBODY),
        ("[n-7:777  :0:777] Caught signal 11", Identity(host="n-7", pid=777)),
        ("[pod/train-worker-3/pytorch] x", Identity(host="train-worker-3")),
        (
            "[pod/train-worker-3/pytorch] 2024-10-11T05:46:30Z [rank3]: x",
            Identity(host="train-worker-3", rank=3),
        ),
        (
            "2023-07-18 22:08:31.644 [204/a/911 (pid 6310)] [5b7e20c8-1d94-4f3a-b6e7-90ac43d8f215] x",
            Identity(pid=6310),
        ),
        ("[n-7:12345] *** Process received signal ***", Identity(host="n-7", pid=12345)),
        ("[n-7:12345:0:12345] Caught signal 11 (Segmentation fault)", Identity(host="n-7", pid=12345)),
        (
            "[1711627506.250000] [n-7:12345:0]  ib_mlx5_log.c:177  UCX  ERROR x",
            Identity(host="n-7", pid=12345),
        ),
        ("2024-03-28 22:15:04,310: rank3[12345][MainThread]: INFO: a: b", Identity(rank=3, pid=12345)),
        ("04/27/2024 10:44:18 [INFO|DP=0|PP=1|TP=0|ip-26-0-1-2]: iteration", Identity(host="ip-26-0-1-2")),
        ("E0427 10:44:18.204000 140412 torch/distributed/elastic/api.py:869] x", Identity(pid=140412)),
        ("I0526 10:44:02.811406 139935712786240 logger_utils.py:81] x", NOBODY),
        ("2024-01-01T00:00:00.0Z stderr F [rank3]: x", Identity(rank=3)),
        ("bench.0 [stderr] [rank1]: x", Identity(rank=1)),
        ("[2024-03-28 22:15:04,310] [INFO] [launch.py:316:sigkill_handler] Killing subprocess 77140", NOBODY),
        ("[config.py:218] x", NOBODY),
        ("[INFO:swift] x", NOBODY),
        ("[1,mpirank:9,algo-2]<stderr>:x", Identity(rank=9, host="algo-2")),
        ("Thu Mar 28 12:05:06 2024[1,4]<stdout>:x", Identity(rank=4)),
        ("(VllmWorker rank=3 pid=812) ERROR 07-02 14:20:31 [x.py:1] y", Identity(rank=3, pid=812)),
        ("[2024-01-01T00:00:00.1Z] [5bd1e2f3] [rank=3] || INFO: x", Identity(rank=3)),
        ("trainer-1  | [rank3]: x", Identity(rank=3)),
        ("Mar 14 06:20:11 INFO trainer: step", NOBODY),
        ("[1,4]<stderr>:[rank9]: x", Identity(rank=9)),
        ("[1,4]<stderr>:[default1]:x", Identity(local_rank=1)),
        ("slurmstepd: error: *** JOB 7 ON node019 CANCELLED AT 2024-03-28T22:15:04 ***", NOBODY),
        ("srun: error: gpu-c-11: tasks 1-3: Exited with exit code 1", NOBODY),
        ("slurmstepd-node042: error: x", NOBODY),
        ("3: hello", NOBODY),
        ("RuntimeError: [5] is setting up NCCL communicator", NOBODY),
        ("Worker failed on [Rank 3] during step", NOBODY),
        ("(global_step=10, pid=3, x)", NOBODY),
    ],
)
def test_printer(line: str, printer: Identity) -> None:
    assert read_lines("x.log", line)[0].printer == printer


def ranks(text: str) -> list[object]:
    return [line.printer.rank for line in read_lines("x.log", text)]


def test_labels_of_srun_count_where_all_lines_have_them() -> None:
    assert ranks("0: a\n3: b\n 0: c\n10: Traceback") == [0, 3, 0, 10]
    assert ranks("[0]: a\n[3]: b\n[0]: c") == [0, 3, 0]
    text = "+ srun -l x\n 0: [rank0]: a\n11: n-7:3:4 [3] NCCL INFO x\nsrun: error: x"
    assert ranks(text) == [None, 0, 11, None]
    assert ranks("steps:\n1: load\nrun\n2: train\nend") == [None] * 5
    assert ranks("1: load\n2: train\n3: save") == [None] * 3
    assert ranks("[1] a\n[0] b\n[1] c\n[0] d\n[0] e\n[1] f") == [1, 0, 1, 0, 0, 1]
    assert ranks("[0]bond1:10.0.0.1\n[1]br-3:10.0.0.2") == [None] * 2


def test_labels_of_tasks_that_launch_ranks_are_no_ranks() -> None:
    assert ranks("0: [rank0]: a\n1: [rank9]: b\n1: c") == [0, 9, None]
    assert ranks("0: [rank0]: a\n1: [rank1]: b\n1: c\n0: d") == [0, 1, 1, 0]
    assert ranks("0: [default0]:a\n1: b\n1: c") == [None] * 3
    assert ranks(
        "0: a\n1: W0427 10:44:17.911000 14 torch/distributed/elastic/multiprocessing/api.py:8] x\n0: b"
    ) == ([None] * 3)


@pytest.mark.parametrize(
    "line",
    [
        "[INFO|trainer.py:2134] 2024-07-02 14:20:31,123 >> ***** Running training *****",
        "[NeMo I 2024-07-02 14:20:31 exp_manager:394] x",
        "submitit INFO (2024-07-02 14:20:31,118) - x",
        "INFO 2024-07-02 14:20:31 x",
        'time="2024-07-02T14:20:31Z" level=error msg=x',
        "level=error ts=2024-07-02T14:20:31Z msg=x",
        "slurmstepd: error: *** STEP 7.0 ON n-7 CANCELLED AT 2024-07-02T14:20:31 DUE TO PREEMPTION ***",
        "  time      : 2024-07-02_14:20:31",
        "INFO 07-02 14:20:31 [engine.py:123] x",
        "(VllmWorkerProcess pid=812) INFO 07-02 14:20:31 engine.py:123] x",
    ],
)
def test_dates_behind_a_level(line: str) -> None:
    record = read_lines("x.log", line + "\n2024-07-02 14:20:31 y")[0]
    assert record.dated
    assert record.time is not None
    assert int(record.time) == 1719930031


@pytest.mark.parametrize(
    "line", ["resumed from checkpoint of 2024-07-02 14:20:31", "built at 2024-07-02 14:20:31"]
)
def test_dates_in_a_sentence_are_no_stamps(line: str) -> None:
    assert read_lines("x.log", line)[0].time is None


def test_hosts_of_pdsh_count_where_most_lines_have_them() -> None:
    text = "worker-0: a\n10.0.0.5: b\nworker-1: [2024-03-28 22:15:04,310] [INFO] c\nworker-0: d"
    assert [line.printer.host for line in read_lines("x.log", text)] == [
        "worker-0",
        "10.0.0.5",
        "worker-1",
        "worker-0",
    ]
    text = "nvidia-nvswitch1: a\nnvidia-nvswitch0: b\ndocker0: c\neth0: d\nmlx5_0: e\nepoch1: f\nrank0: g"
    assert {line.printer.host for line in read_lines("x.log", text)} == {None}


def test_a_doubled_rank_shows_that_the_outer_one_is_local() -> None:
    text = "[rank0]:[rank8]: Traceback (most recent call last):\n[rank1]:[titan] step: 1\n[rank1]:plain"
    first, second, third = read_lines("x.log", text)
    assert (first.printer.rank, first.printer.local_rank) == (8, 0)
    assert (second.printer.rank, second.printer.local_rank) == (None, 1)
    assert (third.printer.rank, third.printer.local_rank) == (None, 1)


@pytest.mark.parametrize(
    ("source", "printer"),
    [
        ("logs/none_abc/attempt_0/3/stderr.log", Identity(local_rank=3)),
        ("rank3.log", Identity(rank=3)),
        ("logs/rank_3/stderr", Identity(rank=3)),
        ("node_0/dmesg.log", NOBODY),
        ("logs/rank_3.err", Identity(rank=3)),
        ("local_rank3.log", Identity(local_rank=3)),
        ("slurm-123-node042.out", Identity(host="node042")),
        ("slurm-123.out", NOBODY),
        ("slurm-123-3.out", NOBODY),
        ("dmesg-node042.log", Identity(host="node042")),
        ("tg1004-dmesg.txt.gz", Identity(host="tg1004")),
        ("node042/dmesg.log", Identity(host="node042")),
        ("032-two-gpus-one-node/dmesg.log", NOBODY),
        ("dmesg-nccl.log", NOBODY),
        ("dmesg-boot1.log", NOBODY),
        ("run1/dmesg.log", NOBODY),
        ("dmesg.log", NOBODY),
        ("train3.log", NOBODY),
        ("node042.log", Identity(host="node042")),
    ],
)
def test_names_of_files(source: str, printer: Identity) -> None:
    assert read_lines(source, "hello")[0].printer == printer


def test_the_name_of_a_file_is_the_weakest_source() -> None:
    text = "plain\n[rank5]: x"
    assert [line.printer.rank for line in read_lines("rank3.log", text)] == [None, 5]
    text = "plain\nsrun: error: node043: task 3: Killed"
    assert {line.printer.host for line in read_lines("slurm-1-node042.out", text)} == {None}
    text = "0: a\n1: b\n0: c"
    assert {line.printer.host for line in read_lines("slurm-1-node042.out", text)} == {None}
    text = "plain\nother-1:3:4 [0] NCCL INFO x"
    assert [line.printer.host for line in read_lines("slurm-1-node042.out", text)] == [None, "other-1"]


def test_a_prompt_names_the_host_of_what_follows() -> None:
    text = "root@n-2:~# dmesg -T | grep NVRM\nNVRM: x\n[me@n-3 ~]$ kubectl logs train-0\nNVRM: y"
    assert [line.printer.host for line in read_lines("x.log", text)] == ["n-2", "n-2", None, None]


@given(st.text(alphabet="[]()rank:0123456789pid=, |.<>stdoute/-AEX\"{}' "))
def test_any_text_has_a_header_within_it(text: str) -> None:
    header = prefixes.read(text, labels.of([text], text))
    assert 0 <= header.end <= len(text)
