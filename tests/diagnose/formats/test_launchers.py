"""Exits: what each launcher says about how a process ended."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.diagnose.formats.launchers import exits, identify, orders
from evenpace.diagnose.lines import read_lines

NEW = """\
============================================================
run.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-02-03_04:05:06
  host      : trainer-b
  rank      : 9 (local_rank: 1)
  exitcode  : -15 (pid: 4101)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 4101
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-02-03_04:05:01
  host      : trainer-b
  rank      : 8 (local_rank: 0)
  exitcode  : -9 (pid: 4100)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 4100
============================================================
"""
OLD = """\
***************************************
              run.py FAILED
=======================================
Root Cause:
[0]:
  time: 2021-10-03_04:05:01
  rank: 2 (local_rank: 2)
  exitcode: 1 (pid: 77)
  error_file: <N/A>
  msg: "Process failed with exitcode 1"
=======================================
Other Failures:
  <NO_OTHER_FAILURES>
***************************************
"""


def test_failure_table_tells_each_process_and_which_was_seen_first() -> None:
    told, killed = exits(read_lines("a.log", NEW))
    assert (told.who.rank, told.signal, told.first) == (9, 15, False)
    assert (killed.who.rank, killed.who.local_rank, killed.who.host) == (8, 0, "trainer-b")
    assert (killed.who.pid, killed.signal, killed.first) == (4100, 9, True)


def test_old_failure_table_is_read() -> None:
    (found,) = exits(read_lines("a.log", OLD))
    assert (found.who.rank, found.who.pid, found.code, found.first) == (2, 77, 1, True)


def test_lines_of_a_table_are_about_their_process() -> None:
    lines = identify(read_lines("a.log", NEW))
    assert next(line for line in lines if "SIGKILL" in line.text).printer.rank == 8


@pytest.mark.parametrize(
    ("text", "code", "known"),
    [
        (
            "E0203 api.py:869] failed (exitcode: -11) local_rank: 3 (pid: 91) of binary: /usr/bin/python3",
            -11,
            "pid",
        ),
        ("[2026-02-03] [ERROR] [launch.py:325] ['python', 'x.py'] exits with return code = -9", -9, ""),
        ("srun: error: trainer-b: task 3: Segmentation fault (core dumped)", -11, "host"),
        ("srun: error: trainer-b: tasks 0-3: Exited with exit code 137", 137, "host"),
        (
            "mpirun noticed that process rank 3 with PID 91 on node trainer-b exited on signal 7.",
            -7,
            "rank",
        ),
        (
            "prterun noticed that process rank 1 with PID 91 on node trainer-b exited on signal 9.",
            -9,
            "rank",
        ),
        (
            "[rank: 3] Child process with PID 91 terminated with code -9. Forcefully terminating all",
            -9,
            "rank",
        ),
        (
            "torch.multiprocessing.spawn.ProcessExitedException: process 2 terminated with signal SIGABRT",
            -6,
            "local_rank",
        ),
        ("subprocess.CalledProcessError: Command '['x']' died with <Signals.SIGKILL: 9>.", -9, ""),
        ("./run.sh: line 12:  4100 Killed                  python train.py", -9, "pid"),
        ("Bus error (core dumped)", -7, ""),
        ("      Exit Code:    137", 137, ""),
        ('    "exitCode": 137,', 137, ""),
        ("command terminated with exit code 137", 137, ""),
        ("[trainer-b:04100] Signal: Segmentation fault (11)", -11, "host"),
        ("[trainer-b:4100 :0:4177] Caught signal 11 (Segmentation fault: address not mapped)", -11, "host"),
        ("*** SIGSEGV (@0x0) received by PID 4100 (TID 0x7f) from PID 0; stack trace: ***", -11, "pid"),
        (
            "kernel: python3[4100]: segfault at 0 ip 00007f sp 00007f error 4 in libnccl.so.2[7f00+1000]",
            -11,
            "pid",
        ),
        ("traps: python3[4100] trap invalid opcode ip:7f sp:7f error:0 in libx.so[7f+1]", -4, "pid"),
        ("Fatal Python error: Segmentation fault", -11, ""),
    ],
)
def test_one_line_tells_how_a_process_ended(text: str, code: int, known: str) -> None:
    (found,) = exits(read_lines("a.log", text))
    assert found.code == code
    assert not known or getattr(found.who, known) is not None
    assert found.signal == (-code if code < 0 else code - 128 if code > 128 else None)


def test_reports_in_two_lines() -> None:
    text = "  Process name: [[4000,1],3]\n  Exit code:    2\n"
    (found,) = exits(read_lines("a.log", text))
    assert (found.who.rank, found.code) == (3, 2)
    text = "=   PID 91 RUNNING AT trainer-b\n=   EXIT CODE: 9\n"
    (found,) = exits(read_lines("a.log", text))
    assert (found.who.host, found.signal) == ("trainer-b", 9)


def test_ray_tells_host_and_pid_but_no_code() -> None:
    text = (
        "(raylet) A worker died or was killed while executing a task by an unexpected system error. "
        "Node ID: ab Worker IP address: 10.9.1.2 Worker port: 10002 Worker PID: 555 Worker exit"
    )
    (found,) = exits(read_lines("a.log", text))
    assert (found.who.host, found.who.pid, found.code) == ("10.9.1.2", 555, None)


def test_orders_of_launchers() -> None:
    text = """\
Received Signals.SIGTERM death signal, shutting down workers
Sending process 90 closing signal SIGTERM
Unable to shutdown process 90 via 15, forcefully exiting via 9
[INFO] [launch.py:319:sigkill_handler] Killing subprocess 91
"""
    received, sent, forced, killed = orders(read_lines("a.log", text))
    assert (received.signal, bool(received.who)) == (15, False)
    assert (sent.who.pid, sent.signal) == (90, 15)
    assert (forced.signal, forced.forced) == (9, True)
    assert killed.who.pid == 91


@given(st.lists(st.sampled_from(NEW.split("\n") + OLD.split("\n")) | st.text(max_size=40), max_size=80))
def test_any_text_is_read_without_an_exception(pieces: list[str]) -> None:
    lines = read_lines("a.log", "\n".join(pieces))
    assert len(exits(lines)) <= len(lines)
    orders(lines)
    assert len(identify(lines)) == len(lines)
