"""py-spy dumps: processes, their ranks and the stacks of their threads."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evenpace.diagnose.formats.pyspy import processes
from evenpace.diagnose.lines import read_lines

DUMP = """\
==> rank 3 <==
Process 4100: python -u pretrain.py
Python v3.11.4 (/usr/bin/python3.11)

Thread 0x7F1C (active+gil): "MainThread"
    all_reduce (torch/distributed/distributed_c10d.py:2050)
    step (pretrain.py:88)
    <module> (pretrain.py:120)
Thread 0x7F1D (idle): "Thread-1"
    wait (threading.py:320)
"""


def test_dump_tells_process_rank_and_frames() -> None:
    (found,) = processes(read_lines("a.log", DUMP))
    assert (found.pid, found.who.pid, found.who.rank) == (4100, 4100, 3)
    assert found.main is not None
    assert [frame.function for frame in found.main.frames] == ["all_reduce", "step", "<module>"]
    assert (found.main.frames[1].file, found.main.frames[1].line) == ("pretrain.py", 88)
    assert (found.main.state, len(found.threads)) == ("active+gil", 2)


def test_rank_is_taken_from_the_command_or_the_name_of_the_file() -> None:
    (found,) = processes(read_lines("a.log", DUMP.replace("pretrain.py\n", "x.py --local_rank=5\n", 1)))
    assert found.who.local_rank == 5
    (found,) = processes(read_lines("stacks-rank17.txt", DUMP.removeprefix("==> rank 3 <==\n")))
    assert found.who.rank == 17


def test_old_dumps_name_their_threads_by_number() -> None:
    text = 'Process 91: python x.py\nThread 91 (active): "MainThread"\n    f (a.py:3)\n'
    (found,) = processes(read_lines("a.log", text))
    assert found.main is not None
    assert found.main.frames[0].function == "f"


@given(st.lists(st.sampled_from(DUMP.split("\n")) | st.text(max_size=30), max_size=60))
def test_any_text_is_read_without_an_exception(pieces: list[str]) -> None:
    lines = read_lines("a.log", "\n".join(pieces))
    found = processes(lines)
    assert sum(len(thread.frames) for one in found for thread in one.threads) <= len(lines)
