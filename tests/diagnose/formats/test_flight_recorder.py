"""Dumps of the flight recorder, as JSON, as pickles, and as its analyzer prints them."""

from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.diagnose.formats.flight_recorder import blocks, listed, read_dump
from evenpace.diagnose.lines import read_lines


@given(st.integers(0, 300), st.binary(max_size=6), st.booleans())
def test_damaged_dumps_are_read_or_refused(at: int, junk: bytes, as_json: bool) -> None:
    whole = content(entry(1), entry(2))
    data = json.dumps(whole).encode() if as_json else pickle.dumps(whole, 2)
    read_dump("trace_1", data[:at] + junk + data[at + len(junk) :])


def entry(seq: int, **other: object) -> dict[str, object]:
    made: dict[str, object] = {
        "record_id": seq,
        "process_group": ["0", "default_pg"],
        "collective_seq_id": seq,
        "p2p_seq_id": 0,
        "profiling_name": "nccl:all_reduce",
        "input_sizes": [[8]],
        "output_sizes": [[8]],
        "state": "completed",
        "retired": True,
        "is_p2p": False,
        "time_created_ns": seq,
    }
    return made | other


def content(*entries: dict[str, object]) -> dict[str, object]:
    config = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}}
    return {"version": "2.10", "pg_config": config, "entries": list(entries)}


@pytest.mark.parametrize(
    "name", ["nccl_trace_rank_12", "/data/x/comm_lib_trace_rank_12", "dumps/rank12.json", "fr_12.pkl"]
)
def test_rank_is_in_the_name_of_the_file(name: str) -> None:
    dump = read_dump(name, json.dumps(content(entry(1))).encode())
    assert dump is not None
    assert dump.rank == 12


def test_json_and_pickle_say_the_same() -> None:
    frames = [
        {
            "name": "all_reduce",
            "filename": "/v/site-packages/torch/distributed/distributed_c10d.py",
            "line": 1,
        },
        {"name": "sync", "filename": "/home/me/metrics.py", "line": 7},
    ]
    whole = content(entry(1), entry(2, state="started", retired=False, frames=frames))
    one, other = read_dump("rank_0", json.dumps(whole).encode()), read_dump("rank_0", pickle.dumps(whole, 2))
    assert one == other
    assert one is not None
    assert [(item.seq, item.done, item.where) for item in one.entries] == [
        (1, True, ""),
        (2, False, "/home/me/metrics.py:7"),
    ]


def test_gloo_is_done_once_retired_and_nccl_is_not() -> None:
    gloo = entry(1, profiling_name="gloo:all_reduce", state="scheduled", retired=True)
    nccl = entry(2, state="started", retired=True)
    dump = read_dump("rank_0", json.dumps(content(gloo, nccl)).encode())
    assert dump is not None
    assert [one.done for one in dump.entries] == [True, False]


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"collective_seq_id", b'{"collective_seq_id": 1}', b'{"entries": 3, "collective_seq_id": 1}'],
)
def test_what_is_no_dump_is_none(data: bytes) -> None:
    assert read_dump("rank_0", data) is None


def test_odd_entries_are_left_out() -> None:
    odd: list[dict[str, object]] = [
        entry(1),
        {},
        {"process_group": 3, "collective_seq_id": 1},
        entry(2, process_group=[], frames=4),
    ]
    dump = read_dump("rank_0", json.dumps(content(*odd)).encode())
    assert dump is not None
    assert [one.seq for one in dump.entries] == [1]


def test_blocks_of_old_and_new_analyzers() -> None:
    old_text = (
        "Not all ranks joining collective 19 at entry 18 for group 0:default_pg collective nccl:all_reduce "
        "missing ranks {2}\n"
    )
    text = """Not all ranks joining collective, sequence number: 4
group info: 1:TP
missing ranks: {5}
expected ranks: {4, 5}
Collective sequence number: 6 has errors
error msg: Culprit rank 1; Error type: COLLECTIVE_TYPE_MISMATCH, Expected type"""
    old, new, differing = blocks(read_lines("fr.txt", old_text + text))
    assert (old.seq, old.group, old.missing) == ("19", "0:default_pg", frozenset({2}))
    assert (new.seq, new.group, new.missing, new.expected) == ("4", "1:TP", frozenset({5}), frozenset({4, 5}))
    assert differing.wrong == {1: "COLLECTIVE_TYPE_MISMATCH"}


def test_listing() -> None:
    text = "completed nccl:all_reduce\n    step a.py:1\nscheduled nccl:barrier\nnoise"
    found = [(state, op, call and call.text.strip()) for _, state, op, call in listed(read_lines("x", text))]
    assert found == [("completed", "all_reduce", "step a.py:1"), ("scheduled", "barrier", None)]


@given(
    st.lists(
        st.sampled_from(
            [
                "Not all ranks joining collective",
                "missing ranks: {1",
                "group info",
                ": ",
                "{" * 99,
                "\n",
                "at x.py:1",
                "completed nccl:x",
            ]
        )
    )
)
def test_any_text_gives_blocks(parts: list[str]) -> None:
    lines = read_lines("x", "".join(parts))
    assert len(blocks(lines)) <= len(lines)
    assert len(list(listed(lines))) <= len(lines)
