from __future__ import annotations

import struct
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evenpace.collect.job.rings import Group, RingError, RingReader, read_groups
from evenpace.tap.inject.evenpace_tap import layout
from evenpace.tap.inject.evenpace_tap.ring import U16, Ring

SMALL = 64


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "CAPACITY", SMALL)


@pytest.fixture
def ring(tmp_path: Path) -> Ring:
    return Ring(str(tmp_path / "node.1.ring"), "node", layout.TAP_PYTHON)


def reader_of(ring: Ring) -> RingReader:
    return RingReader(Path(ring.path))


def add(ring: Ring, size: int = 0) -> int:
    return ring.append((1, 2, 0, 0, 0, size, 77, 5, -1, 2, 0, 0, 9))


def test_header_holds_what_the_worker_wrote(ring: Ring) -> None:
    ring.set(rank=3, world_size=8, state=layout.STATE_EXCEPTION, exit_code=-9)
    ring.write_text(layout.EXCEPTION_AREA, "ValueError: 값\n" + "x" * 10000)
    header = reader_of(ring).header()
    assert (header.rank, header.world_size, header.state, header.exit_code) == (3, 8, 3, -9)
    assert (header.node, header.message, header.capacity) == ("node", "", SMALL)
    assert header.exception.startswith("ValueError: 값\nxxx")
    assert header.wall_offset_ns > 0
    assert header.pid_start_ticks > 0


def test_poll_returns_records_once_in_order(ring: Ring) -> None:
    for size in range(5):
        ring.update(add(ring, size), "complete_ns", 3)
    reader = reader_of(ring)
    records = reader.poll()
    assert records["index"].tolist() == records["bytes"].tolist() == [0, 1, 2, 3, 4]
    assert (records[0]["group"], records[0]["sequence"], records[0]["peer"]) == (77, 5, -1)
    assert reader.poll().size == 0


def test_a_record_comes_again_when_it_completes_and_when_its_wait_ends(ring: Ring) -> None:
    reader = reader_of(ring)
    index = add(ring)
    assert reader.poll()["complete_ns"].tolist() == [0]
    assert reader.poll().size == 0
    ring.update(index, "waiting", 1, U16)
    ring.update(index, "complete_ns", 7)
    assert reader.poll()[["index", "complete_ns", "waiting"]].tolist() == [(0, 7, 1)]
    ring.update(index, "waiting", 0, U16)
    ring.update(index, "wait_ns", 30)
    assert reader.poll()[["index", "wait_ns", "waiting"]].tolist() == [(0, 30, 0)]
    assert reader.poll().size == 0


def test_an_overwritten_stretch_is_counted(ring: Ring) -> None:
    reader = reader_of(ring)
    for size in range(3 * SMALL + 5):
        add(ring, size)
    records = reader.poll()
    assert records["bytes"].tolist() == list(range(2 * SMALL + 5, 3 * SMALL + 5))
    assert reader.missed == 2 * SMALL + 5
    for _ in range(SMALL):
        add(ring)
    assert reader.poll().size == SMALL  # and the open records that were overwritten are not asked for again
    assert reader.missed == 2 * SMALL + 5


def test_a_record_that_is_being_written_is_not_returned(ring: Ring) -> None:
    reader = reader_of(ring)
    add(ring)
    offset, _ = layout.field_struct("head")
    with Path(ring.path).open("r+b") as file:
        file.seek(offset)
        file.write(struct.pack("<Q", 2))
    assert reader.poll()["index"].tolist() == [0]
    assert reader.missed == 0
    ring._head = 1
    add(ring)
    assert reader.poll()["index"].tolist() == [1]


def damaged(path: Path, change: Callable[[bytearray], bytearray | bytes]) -> Path:
    path.write_bytes(change(bytearray(path.read_bytes())))
    return path


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: b"", "cut short"),
        (lambda data: data[:5000], "cut short"),
        (lambda data: data[:-1], "cut short"),
        (lambda data: b"x" * len(data), "not a ring"),
        (lambda data: data[:8] + struct.pack("<I", 99) + data[12:], "another layout"),
        (lambda data: data[:16] + struct.pack("<I", 63) + data[20:], "power of two"),
        (lambda data: data[:16] + struct.pack("<I", 1 << 31) + data[20:], "power of two"),
    ],
)
def test_a_damaged_file_is_refused(ring: Ring, change: Callable[[bytearray], bytes], says: str) -> None:
    path = damaged(Path(ring.path), change)
    with pytest.raises(RingError, match=says):
        RingReader(path)


def test_a_file_cut_short_while_it_is_read_is_an_error_and_no_signal(ring: Ring) -> None:
    reader = reader_of(ring)
    add(ring)
    with Path(ring.path).open("r+b") as file:
        file.truncate(layout.HEADER_BYTES)
    with pytest.raises(RingError, match="cut short"):
        reader.poll()


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(body=st.binary(max_size=SMALL * layout.RECORD_BYTES), head=st.integers(0, 2**64 - 1))
def test_garbage_behind_a_right_header_does_no_harm(tmp_path: Path, body: bytes, head: int) -> None:
    path = tmp_path / "garbage.ring"
    ring = Ring(str(path), "node", layout.TAP_NATIVE)
    ring.set(head=head)
    with path.open("r+b") as file:
        file.seek(layout.HEADER_BYTES)
        file.write(body)
    reader = RingReader(path)
    for _ in range(2):
        assert reader.poll().size <= 2 * SMALL
    reader.header()
    reader.close()


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(steps=st.lists(st.sampled_from(["add", "complete", "wait", "poll"]), max_size=400))
def test_any_interleaving_tells_each_record_at_its_latest(tmp_path: Path, steps: list[str]) -> None:
    ring = Ring(str(tmp_path / "any.ring"), "node", layout.TAP_PYTHON)
    reader = reader_of(ring)
    told: dict[int, int] = {}
    completed: dict[int, int] = {}
    for step in [*steps, "poll"]:
        if step == "add":
            completed[add(ring)] = 0
        elif step == "complete" and completed:
            index = min(completed, key=lambda each: (completed[each] != 0, each))
            completed[index] = completed[index] or index + 10
            ring.update(index, "complete_ns", completed[index])
        elif step == "poll":
            told |= {int(record["index"]): int(record["complete_ns"]) for record in reader.poll()}
    assert len(told) + reader.missed == len(completed)
    recent = [index for index in told if index >= len(completed) - SMALL]
    assert {index: told[index] for index in recent} == {index: completed[index] for index in recent}


def test_a_reader_racing_a_writer_sees_only_whole_records(ring: Ring) -> None:
    reader = reader_of(ring)
    total = 20_000
    writer = threading.Thread(target=lambda: [add(ring, size) for size in range(total)])
    writer.start()
    seen: list[np.ndarray] = []
    while writer.is_alive():
        seen.append(reader.poll())
    writer.join()
    seen.append(reader.poll())
    records = np.concatenate(seen)
    assert (records["bytes"] == records["index"]).all()
    assert (records["sequence"] == 5).all()
    assert (np.diff(records["index"].astype(int)) > 0).all()
    assert records.size + reader.missed == total


def test_groups_of_damaged_lines_are_skipped_and_the_last_line_wins(tmp_path: Path) -> None:
    path = tmp_path / "node.1.groups"
    lines = [
        '{"key": 5, "name": "0", "ranks": [0, 1]}',
        '{"key": 5, "na',
        "[]",
        "null",
        '{"key": "x"}',
        "\x00",
    ]
    path.write_text("\n".join([*lines, '{"key": 5, "name": "7", "ranks": [1, 3]}', '{"key": 6']))
    assert read_groups(path) == {5: Group("7", (1, 3))}
    assert read_groups(tmp_path / "none.groups") == {}
    assert read_groups(tmp_path) == {}, "a folder"


@given(st.binary(max_size=300))
def test_groups_of_any_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("groups") / "a.groups"
    path.write_bytes(data)
    assert isinstance(read_groups(path), dict)
