"""Kernel lines in all the ways in which they are kept."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.diagnose.formats import kernel
from evenpace.diagnose.lines import read_lines

XID = "NVRM: Xid (PCI:0000:5d:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."


@pytest.mark.parametrize(
    ("line", "host", "dated"),
    [
        (XID, None, None),
        ("[2397166.983093] " + XID, None, False),
        ("[Thu Mar 12 04:38:30 2026] " + XID, None, True),
        ("[  142.508117] nid001 kernel: " + XID, "nid001", False),
        ("Mar 14 06:20:11 nid001 kernel: [  142.508117] " + XID, "nid001", False),
        ("Mar 14 06:20:11.123456 nid001.corp kernel: " + XID, "nid001.corp", False),
        ("2025-01-21T04:41:44+0000 nid001 kernel: " + XID, "nid001", True),
        ("2025-01-21T04:41:44.285060+00:00 nid001 kernel: [  142.508117] " + XID, "nid001", True),
        ("Tue 2025-01-21 04:41:44 UTC nid001 kernel: " + XID, "nid001", True),
        ("1737434504.285060 nid001 kernel: " + XID, "nid001", True),
        ("kern  :warn  : 2025-01-21T04:41:44,285060+00:00 " + XID, None, True),
        ("kern  :err   : [  142.508117] " + XID, None, False),
        ("<3>[  142.508117] " + XID, None, False),
        ("3,3964,206764307,-;" + XID, None, False),
        ("kernel: " + XID, None, None),
    ],
)
def test_a_kernel_line_says_when_and_where(line: str, host: str | None, dated: bool | None) -> None:
    (record,) = read_lines("x.log", line)
    assert record.format == "kernel"
    assert record.text == line
    assert record.printer.host == host
    assert (record.time is None) == (dated is None)
    assert record.dated is bool(dated)


@pytest.mark.parametrize(
    "line",
    [
        "2024-03-28 22:15:04,310 root INFO: started",
        "2024-03-28T22:15:04Z trainer WARNING: slow",
        "E0427 10:44:18.204000 140412 torch/distributed/elastic/multiprocessing/api.py:869] failed",
        "[  142.508117] nvidia-nvswitch1: SXid (PCI:0000:86:00.0): 20034, Fatal, Link 17",
        "[  142.508117] docker0: port 1(veth77) entered blocking state",
        "slurmstepd: error: *** JOB 7 ON node019 CANCELLED AT 2024-03-28T22:15:04 DUE TO TIME LIMIT ***",
    ],
)
def test_what_is_no_host_names_none(line: str) -> None:
    (record,) = read_lines("x.log", line)
    assert record.printer.host is None


def test_continuation_lines_take_stamp_and_host() -> None:
    text = (
        "Mar 14 06:20:11 nid001 kernel: NVRM: The NVIDIA GPU 0000:61:00.0\n"
        "               NVRM: (PCI ID: 10de:2330) installed in this system has\n"
        "               NVRM: fallen off the bus and is not responding to commands.\n"
        "Mar 14 06:20:12 nid001 kernel: nvidia: probe of 0000:61:00.0 failed with error -1"
    )
    records = read_lines("x.log", text)
    assert [record.number for record in records] == [1, 2, 3, 4]
    assert {record.printer.host for record in records} == {"nid001"}
    assert records[0].time == records[1].time == records[2].time
    assert {record.format for record in records} == {"kernel"}


@pytest.mark.parametrize(
    ("fields", "host", "time"),
    [
        ({"MESSAGE": XID, "_HOSTNAME": "nid001", "__REALTIME_TIMESTAMP": "1737434504285060",
          "SYSLOG_IDENTIFIER": "kernel"}, "nid001", 1737434504.28506),
        ({"log": "x\n", "stream": "stderr", "time": "2025-01-21T04:41:44.285060Z"}, None, 1737434504.28506),
        ({"level": "info", "ts": 1737434504.28506, "msg": "x", "host": "nid001"}, "nid001", 1737434504.28506),
    ],
)  # fmt: skip
def test_records_of_json(fields: dict[str, Any], host: str | None, time: float) -> None:
    (record,) = read_lines("x.log", json.dumps(fields))
    assert record.printer.host == host
    assert record.time == pytest.approx(time)
    assert record.dated


def test_the_pid_of_the_journal_is_the_printers() -> None:
    line = json.dumps({"MESSAGE": "x", "_PID": "421", "__REALTIME_TIMESTAMP": "1737434504285060"})
    assert read_lines("x.log", line)[0].printer.pid == 421


@pytest.mark.parametrize(
    "text",
    ["{}", '{"msg": 1}', '{"msg": 1, "ts": true}', '{"msg": 1, "ts": 1e999}', '{"msg": "", "time": []}',
     "[" * 9999, '{"msg":' * 9999, '{"msg": "x", "ts": "nan"}', '{"msg": "x", "ts": -5}'],
)  # fmt: skip
def test_odd_json_says_nothing(text: str) -> None:
    said = kernel.from_json(text)
    assert said is None or said.seconds is None


@given(
    st.dictionaries(
        st.sampled_from(["msg", "ts", "time", "host", "rank", "pid"]), st.none() | st.floats() | st.text()
    )
)
def test_any_json_is_read(fields: dict[str, Any]) -> None:
    kernel.from_json(json.dumps(fields))
