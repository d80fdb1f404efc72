"""NCCL and c10d say who they are; a rank inside a group is not the global one."""

from __future__ import annotations

import pytest

from evenpace.diagnose.formats import nccl
from evenpace.diagnose.lines import read_lines
from evenpace.diagnose.model import Identity


@pytest.mark.parametrize(
    ("line", "printer"),
    [
        ("n-7:412:900 [3] NCCL INFO comm 0x1 rank 3 nranks 8", Identity(host="n-7", pid=412, gpu="3")),
        (
            "n-7:412:900 [3] transport/net_ib.cc:74 NCCL WARN NET/IB : x",
            Identity(host="n-7", pid=412, gpu="3"),
        ),
        ("n-7:412:900 [0] misc/ibvwrap.cu:61 WARN Failed to open", Identity(host="n-7", pid=412, gpu="0")),
        (
            "[2026-02-10 08:17:53] n-7:412:900 [1] proxy.cc:1 NCCL WARN x",
            Identity(host="n-7", pid=412, gpu="1"),
        ),
        ("4c17be0a92d3:61:61 [0] NCCL INFO x", Identity(host="4c17be0a92d3", pid=61, gpu="0")),
        ("n-7:412:900 [29741] NCCL WARN x", Identity(host="n-7", pid=412)),
        ("n-7:412:900 [-1] NCCL INFO x", Identity(host="n-7", pid=412)),
        ("n-7: Test NCCL failure common.cu:775 'x'", Identity(host="n-7")),
        ("n-7: Test CUDA failure common.cu:775 'x'", Identity(host="n-7")),
        (" .. n-7 pid 5562: Test failure common.cu:941", Identity(host="n-7", pid=5562)),
        ("NCCL version 2.18.3+cuda12.2", Identity()),
        ("NCCL WARN NET/IB : Got async event : port error", Identity()),
    ],
)
def test_header(line: str, printer: Identity) -> None:
    (record,) = read_lines("x.log", line)
    assert record.printer == printer
    assert record.format == "nccl"


@pytest.mark.parametrize(
    ("line", "rank"),
    [
        (
            "[rank6]:[E117 06:00:51.588405911 ProcessGroupNCCL.cpp:1] [PG ID 13 PG GUID 104(EP) Rank 0] x",
            6,
        ),
        ("[E117 06:00:51.588405911 PGx.cpp:1870] [PG ID 13 PG GUID 104(EP) Rank 0] stuck", None),
        ("[E ProcessGroupNCCL.cpp:1870] [PG ID 0 PG GUID 0(default_pg) Rank 6] stuck", 6),
        ("[E ProcessGroupNCCL.cpp:1870] [PG ID 0 PG GUID 0 Rank 6] stuck", 6),
        ("[E ProcessGroupNCCL.cpp:1870] [PG 0 (default_pg) Rank 6] stuck", 6),
        ("[E ProcessGroupNCCL.cpp:1870] [PG 0 Rank 6] stuck", 6),
        ("[E ProcessGroupNCCL.cpp:1870] [PG 1 Rank 6] stuck", None),
        ("[E ProcessGroupNCCL.cpp:1870] [PG ID 0 PG GUID 17(mesh_tp) Rank 6] stuck", None),
        ("[E ProcessGroupNCCL.cpp:474] [Rank 3] Watchdog caught collective operation timeout: x", 3),
        ("  what():  [Rank 3] Watchdog caught collective operation timeout: x", 3),
        ("  what():  [PG ID 4 PG GUID 9(dp) Rank 3] Process group watchdog thread terminated", None),
        ("[E ProcessGroupNCCL.cpp:488] Some NCCL operations have failed, see [Rank 3]", None),
        ("[Rank 2] Caught collective operation timeout: x", 2),
    ],
)
def test_global_rank(line: str, rank: int | None) -> None:
    (record,) = read_lines("x.log", line)
    assert record.printer.rank == rank
    assert record.format == "c10d"


def test_a_default_group_that_contradicts_the_prefix_shows_a_local_rank() -> None:
    line = "[rank1]:[E117 06:00:51.588405911 ProcessGroupNCCL.cpp:1] [PG ID 0 PG GUID 0(default_pg) Rank 9] x"
    (record,) = read_lines("x.log", line)
    assert (record.printer.rank, record.printer.local_rank) == (9, 1)


def test_hosts_of_a_log() -> None:
    assert nccl.hosts("a-1:2:3 [0] NCCL INFO x\nsee b-2:2:3 [0] y\n[2026-02-10 08:17:53] c-3:2:3 [0] z") == {
        "a-1",
        "c-3",
    }
