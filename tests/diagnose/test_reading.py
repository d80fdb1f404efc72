from __future__ import annotations

import gzip
import io
import os
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from evenpace.diagnose import reading
from evenpace.diagnose.model import Case
from evenpace.diagnose.reading import read, read_part
from evenpace.diagnose.sift import Part
from evenpace.diagnose.sources import Inputs, find
from evenpace.errors import Problem

XID = "NVRM: Xid (PCI:0000:c1:00): 79, pid=4242, GPU has fallen off the bus."
STEP = "step {0}: loss 2.1\n"


def read_all(folder: Path, jobs: int = 1) -> tuple[Case, Inputs]:
    inputs = find([str(folder)])
    return read(inputs, jobs=jobs), inputs


def test_files_keep_their_order_and_lines_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "b.log").write_text("one\ntwo\n")
    (tmp_path / "a.log").write_text("\nthree\n")
    case, _ = read_all(tmp_path)
    places = [(Path(line.source).name, line.number, line.text) for line in case.lines]
    assert places == [("a.log", 2, "three"), ("b.log", 1, "one"), ("b.log", 2, "two")]
    assert [(source.lines, source.size) for source in case.sources] == [(2, 7), (2, 8)]


def test_what_is_no_text_or_empty_is_skipped_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("x\n")
    (tmp_path / "core.dump").write_bytes(b"\x7fELF\x00\x00\x01" * 500)
    (tmp_path / "empty.log").touch()
    os.mkfifo(tmp_path / "pipe.log")
    case, inputs = read_all(tmp_path)
    assert [Path(source.name).name for source in case.sources] == ["a.log"]
    names = {reason: [Path(name).name for name in found] for reason, found in inputs.skipped.items()}
    assert names == {"binary": ["core.dump"], "empty": ["empty.log"], "unreadable": ["pipe.log"]}


def test_a_damaged_file_is_read_as_far_as_it_goes_and_told(tmp_path: Path) -> None:
    packed = gzip.compress("".join(STEP.format(n) for n in range(200_000)).encode())
    (tmp_path / "a.log.gz").write_bytes(packed[: len(packed) // 2])
    case, inputs = read_all(tmp_path)
    assert case.lines
    assert list(inputs.skipped) == ["damaged"]


def test_a_file_that_goes_away_is_unreadable(tmp_path: Path) -> None:
    assert read_part(Part(tmp_path / "gone.log")).skipped == "unreadable"


def test_encodings_are_recognised(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes((XID + "\n").encode("utf-16"))
    (tmp_path / "b.log").write_bytes(b"\xfd latin \xe9\n" + XID.encode() + b"\n")
    case, _ = read_all(tmp_path)
    assert sum(XID in line.text for line in case.lines) == 2


def test_standard_input_is_a_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(XID.encode() + b"\n")))
    case = read(find(["-"]), jobs=1)
    assert [source.name for source in case.sources] == ["standard input"]
    assert case.lines[0].text == XID


def test_progress_is_told_and_ends_at_the_whole(tmp_path: Path) -> None:
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text("x\n" * 10)
    told: list[tuple[int, int]] = []
    read(find([str(tmp_path)]), jobs=1, progress=lambda done, whole: told.append((done, whole)))
    assert told[-1] == (40, 40)
    assert told == sorted(told)


def test_large_logs_are_kept_in_excerpts_with_their_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "ALL_WHOLE", 1000)
    body = [STEP.format(number) for number in range(60_000)]
    body[30_000] = XID + "\n"
    (tmp_path / "a.log").write_text("".join(body))
    case, _ = read_all(tmp_path)
    (seen,) = [line for line in case.lines if line.text == XID]
    assert seen.number == 30_001
    assert len(case.lines) < 30_000
    assert case.sources[0].lines == 60_000
    assert case.sources[0].scanned_only > 30_000


def test_parts_of_one_file_are_put_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = "".join(STEP.format(number) for number in range(60_000)) + XID + "\n"
    (tmp_path / "a.log").write_text(body)
    monkeypatch.setattr(reading, "ALL_WHOLE", 1000)
    monkeypatch.setattr(reading, "RANGE", 100_000)
    case, _ = read_all(tmp_path)
    assert [source.size for source in case.sources] == [len(body)]
    assert case.sources[0].lines == 60_001
    assert [line.number for line in case.lines if line.text == XID] == [60_001]


def test_several_processes_read_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.log", "b.log", "c.log"):
        (tmp_path / name).write_text(STEP.format(1) + XID + "\n")
    alone, _ = read_all(tmp_path)
    monkeypatch.setattr(reading, "SMALL", 0)
    together, _ = read_all(tmp_path, jobs=2)
    assert together.lines == alone.lines
    assert together.sources == alone.sources


class Killed:
    """A pool whose processes somebody kills."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs

    def __enter__(self) -> Killed:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def map(self, *_: object) -> None:
        raise BrokenProcessPool


def test_a_reader_that_is_killed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text("x\n")
    monkeypatch.setattr(reading, "SMALL", 0)
    monkeypatch.setattr(reading, "ProcessPoolExecutor", Killed)
    with pytest.raises(Problem, match="was killed"):
        read_all(tmp_path, jobs=2)
