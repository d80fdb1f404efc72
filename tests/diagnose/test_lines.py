"""From the text of a log to clean records."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evenpace.diagnose.formats.clean import LONGEST
from evenpace.diagnose.lines import read_lines
from evenpace.diagnose.model import Line

FRAGMENTS = st.sampled_from(
    [
        "[rank3]: ",
        "\n",
        "\r",
        "\x1b[31m",
        "Traceback (most recent call last):\n",
        '  File "a.py", line 3, in f\n',
        "\x08",
        "[E ProcessGroupNCCL.cpp:474] [Rank 3] x",
        "n-7:412:900 [3] NCCL INFO x\n",
        "  3%|▎ | 23/846 [02:19<1:22:44,  6.03s/it]",
        "Mar 14 06:20:11 n-7 kernel: [  1.500000] NVRM: Xid (PCI:0000:5d:00): 79\n",
        '{"msg": "x", "ts": 1737434504}\n',
        "2024-03-28 22:15:04,310 ",
        "E0427 10:44:18.204000 1 a.py:1] ",
        "0: ",
        "root@n-7:~# ",
        "\x00",
        '"',
        "x" * 80,
    ]
)
LOGS = st.lists(FRAGMENTS | st.text(max_size=20), max_size=40).map("".join)


@given(LOGS, st.integers(1, 10**6))
@example("", 1)
@example("\ud800\n", 1)
def test_any_text_gives_bounded_records_in_order(text: str, first: int) -> None:
    records = read_lines("x.log", text, first)
    numbers = [record.number for record in records]
    assert numbers == sorted(numbers)
    assert all(first <= number <= first + text.count("\n") for number in numbers)
    assert sum(len(record.text) for record in records) <= len(text) + 64 * len(records)
    assert all(
        record.text.strip() and "\n" not in record.text and "\r" not in record.text for record in records
    )


@given(
    st.lists(LOGS.map(lambda text: text.replace("\n", " ").replace("\r", " ")), max_size=8), st.integers(0, 8)
)
def test_two_halves_have_the_records_of_the_whole(lines: list[str], at: int) -> None:
    def texts(records: list[Line]) -> list[tuple[int, str]]:
        return [(record.number, record.text) for record in records]

    lines = [line[:50].replace("\x08", "").replace("\x1b", "") for line in lines]
    head, tail = lines[:at], lines[at:]
    whole = texts(read_lines("x.log", "\n".join(lines)))
    halves = texts(read_lines("x.log", "\n".join(head))) + texts(
        read_lines("x.log", "\n".join(tail), len(head) + 1)
    )
    if not any("NCCL" in line or "[0m" in line for line in lines):
        assert whole == halves


@pytest.mark.parametrize(
    ("line", "form"),
    [
        ("[1611.000001] NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.", "kernel"),
        ("Out of memory: Killed process 71 (python) total-vm:1kB", "kernel"),
        ("n-7:412:900 [3] NCCL INFO x", "nccl"),
        ("ncclSystemError: System call (socket, malloc, munmap, etc) failed.", "nccl"),
        ("[W socket.cpp:663] [c10d] The client socket has failed to connect", "c10d"),
        ("[rank3]:[E ProcessGroupNCCL.cpp:563] [Rank 3] Watchdog caught collective", "c10d"),
        (
            "W0427 10:44:17.911000 1404 torch/distributed/elastic/multiprocessing/api.py:897] Sending",
            "launcher",
        ),
        ("[2024-03-28 22:15:04,310] [INFO] [launch.py:316:sigkill_handler] Killing subprocess 7", "launcher"),
        ("  exitcode  : -6 (pid: 20115)", "launcher"),
        ("mpirun noticed that process rank 3 with PID 71 exited", "launcher"),
        ("slurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.0", "scheduler"),
        ("srun: error: n-7: task 3: Killed", "scheduler"),
        ("submitit WARNING (2023-01-19 13:43:27,540) - Bypassing signal SIGTERM", "scheduler"),
        ("Warning  FailedScheduling  3m  default-scheduler  0/4 nodes are available: pod x", "kubernetes"),
        ("    Last State:     Terminated", "kubernetes"),
        ("Mar 14 06:20:11 n-7 kubelet[812]: E0314 06:20:11.1 812 x.go:1] x", "kubernetes"),
        ("[rank2]: Traceback (most recent call last):", "traceback"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "traceback"),
        ("  3%|▎         | 23/846 [02:19<1:22:44,  6.03s/it]", "progress"),
        ("{'loss': 1.1168, 'grad_norm': 0.61, 'learning_rate': 9.7e-06, 'epoch': 0.09}", "iteration"),
        (
            " iteration    27511/  240000 | elapsed time per iteration (ms): 182.6 | lm loss: 2.4E+00",
            "iteration",
        ),
        ("step 20380 loss 2.1925 lr 1.92e-04 grad_norm 0.672 tok/s 88864", "iteration"),
        (
            "2024-03-28 22:15:04,310 - root - INFO - step:  1  loss:  12.2  memory: 1GiB  tps: 800",
            "iteration",
        ),
        ("ERROR: loss is nan at iteration 5", "plain"),
        ("> building train, validation, and test datasets ...", "plain"),
    ],
)
def test_formats(line: str, form: str) -> None:
    assert read_lines("x.log", line)[0].format == form


def test_interleaved_tracebacks_are_followed_by_printer() -> None:
    text = (
        "[rank0]: Traceback (most recent call last):\n"
        '[rank0]:   File "a.py", line 3, in f\n'
        "[rank1]: Traceback (most recent call last):\n"
        "[rank0]:     g()\n"
        "plain words\n"
        "[rank0]: my.module.Odd: why\n"
        '[rank1]:   File "a.py", line 3, in f\n'
        "[rank1]: KeyError: 'x'\n"
        "[rank1]: my.module.Odd: why"
    )
    forms = [line.format for line in read_lines("x.log", text)]
    assert forms == ["traceback"] * 4 + ["plain"] + ["traceback"] * 3 + ["plain"]


def test_an_error_joined_to_a_bar_becomes_a_record_of_the_same_line() -> None:
    text = (
        "\r".join(f"  {n}%|▎  | {n}/100 [00:0{n}<01:00,  1.0s/it]" for n in range(5))
        + "[rank3]: RuntimeError: x\nend"
    )
    bar, error, end = read_lines("x.log", text, 7)
    assert (bar.number, error.number, end.number) == (7, 7, 8)
    assert (bar.format, error.format) == ("progress", "traceback")
    assert "4/100" in bar.text
    assert (error.text, error.printer.rank) == ("[rank3]: RuntimeError: x", 3)
    assert bar.printer.rank is None


def test_who_gathers_lines_also_gathered_what_ran_together() -> None:
    first, second = read_lines("x.log", "[1,4]<stdout>:loss 2.[E ProcessGroupNCCL.cpp:474] x")
    assert (first.printer.rank, second.printer.rank) == (4, 4)
    first, second = read_lines("x.log", "[rank4]: loss 2.[E ProcessGroupNCCL.cpp:474] x")
    assert (first.printer.rank, second.printer.rank) == (4, None)


def test_a_line_is_cut_but_what_begins_in_it_is_kept() -> None:
    first, second = read_lines("x.log", "x" * 100_000 + "[rank3]: RuntimeError: x" + "y" * 100_000)
    assert len(first.text) == len(second.text) == LONGEST
    assert second.printer.rank == 3


def test_years_come_from_anywhere_in_the_text() -> None:
    text = "[rank0]:[E214 17:38:20.118603447 ProcessGroupNCCL.cpp:607] x\n  time      : 2025-02-14_17:38:30"
    first, second = read_lines("x.log", text)
    assert first.dated
    assert second.time is not None
    assert first.time == pytest.approx(second.time - 10, abs=1)


def test_a_hundred_thousand_odd_characters_take_linear_time() -> None:
    for odd in (
        "[",
        "[rank1]:",
        "\r",
        '"',
        "a:1:1 [0] ",
        "  ",
        "1/2 [00:01",
        "1%|",
        "\x1b]",
        "\x08",
        "E0427 ",
        "[====",
        "(pid=1) ",
    ):
        assert sum(len(line.text) for line in read_lines("x.log", odd * (200_000 // len(odd)))) <= 300_000
