from __future__ import annotations

import contextlib
import gzip
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.simulate.made import COLUMNS, Job, Row, trace, write

from evenpace.errors import Problem
from evenpace.simulate.traces import csv as csv_module
from evenpace.simulate.traces.csv import read_csv
from evenpace.simulate.traces.parquet import read_parquet

ROWS = trace(Job(2, 2, 2, steps=2))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trace.csv"


def parquet(path: Path, rows: list[Row], **columns: Any) -> Path:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as pq

    found = {name: [row[name] for row in rows] for name in COLUMNS} | columns
    pq.write_table(arrow.table(found), path)
    return path


def test_a_trace_is_read_with_its_values(path: Path) -> None:
    seen: list[int] = []
    found = read_csv(write(path, ROWS), seen.append)
    assert len(found) == len(ROWS)
    for at in (0, len(ROWS) - 1):
        row = ROWS[at]
        assert found.types[found.type[at]] == row["optype"]
        assert (found.replica[at], found.stage[at], found.step[at]) == (
            row["dp_rank"],
            row["stage"],
            row["step"],
        )
        assert (found.start[at], found.duration[at]) == (row["start_ts"], row["duration"])
        assert (found.mb[at], found.chunk[at]) == (row["mb_id"], row["gmc"])


def test_gzip_and_parquet_hold_the_same(path: Path) -> None:
    plain = read_csv(write(path, ROWS))
    packed = path.with_suffix(".csv.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    seen: list[int] = []
    for other in (read_csv(packed), read_parquet(parquet(path.with_suffix(".parquet"), ROWS), seen.append)):
        assert [other.types[at] for at in other.type] == [plain.types[at] for at in plain.type]
        for name in ("replica", "stage", "rank", "step", "seq", "mb", "chunk", "start", "duration"):
            assert getattr(other, name).tolist() == getattr(plain, name).tolist()
    assert seen == [len(ROWS)]


def test_micro_batch_and_chunk_may_be_missing(path: Path) -> None:
    needed = [name for name in COLUMNS if name not in ("mb_id", "mc", "gmc")]
    found = read_csv(write(path, ROWS, needed))
    assert set(found.mb.tolist()) == set(found.chunk.tolist()) == {-1}
    some = [row | {"mb_id": ""} for row in ROWS]
    assert set(read_csv(write(path, some)).mb.tolist()) == {-1}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"duration": -0.5},
            r"duration of operation 3 is -0.5, not seconds from 0 to 1e\+06; correct the trace",
        ),
        ({"duration": "nan"}, "duration of operation 3 is nan"),
        ({"duration": 1e300}, r"duration of operation 3 is 1e\+300"),
        ({"start_ts": "inf"}, "start_ts of operation 3 is inf"),
        ({"start_ts": ""}, "start_ts of operation 3 is nan"),
        ({"rank": -1}, "rank of operation 3 is -1, not a whole number from 0"),
        ({"stage": 1.5}, "stage of operation 3 is 1.5, not a whole number"),
        ({"step": 1e30}, r"step of operation 3 is 1e\+30"),
        ({"dp_rank": "first"}, "'first' of operation 3 is no number"),
        ({"optype": "x" * 100}, r"optype is no name of an operation \(operation 3\)"),
    ],
)
def test_a_wrong_value_is_named(path: Path, change: dict[str, Any], says: str) -> None:
    rows = [dict(row) for row in ROWS]
    rows[2] |= change
    with pytest.raises(Problem, match=says):
        read_csv(write(path, rows))


def test_several_wrong_values_are_counted(path: Path) -> None:
    with pytest.raises(Problem, match=f"so are {len(ROWS) - 1} others"):
        read_csv(write(path, [row | {"duration": -1} for row in ROWS]))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "has no column dp_rank, stage"),
        (b"a,b\n1,2\n", "has no column dp_rank"),
        (",".join(COLUMNS).encode() + b"\n", "holds no operation"),
        (",".join([*COLUMNS, "rank"]).encode() + b"\n", "the column rank twice"),
        (",".join(COLUMNS).encode() + b"\n1,2\n", "operation 1 has 2 fields, the header 11"),
        (b"\xff\xfe\x00\x01", "not a text in UTF-8"),
        (b"x" * 200_000, "a line of more than 65536 characters"),
        (b'dp_rank,"' + b"y" * 3000, "has no column"),
    ],
)
def test_what_is_no_trace_is_a_problem(path: Path, content: bytes, says: str) -> None:
    path.write_bytes(content)
    with pytest.raises(Problem, match=says):
        read_csv(path)


def test_a_broken_gzip_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv.gz"
    for content in (b"no gzip", gzip.compress(b"a,b\n" * 1000)[:-20]):
        path.write_bytes(content)
        with pytest.raises(Problem, match="not a whole gzip file"):
            read_csv(path)


def test_a_trace_that_is_too_long_is_a_problem(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_module, "MOST_ROWS", 10)
    with pytest.raises(Problem, match="operations; cut it to fewer steps"):
        read_csv(write(path, ROWS))


def test_empty_lines_have_an_end_too(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_module, "MOST_ROWS", 10)
    path.write_text(",".join(COLUMNS) + "\n" * 100)
    with pytest.raises(Problem, match="operations; cut it to fewer steps"):
        read_csv(path)


def test_too_many_types_are_no_types(path: Path) -> None:
    with pytest.raises(Problem, match="no name of an operation"):
        read_csv(write(path, [ROWS[0] | {"optype": f"op{at}"} for at in range(100)]))


def test_without_pyarrow_it_is_told_how_to_get_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(Problem, match=r"pip install 'evenpace\[traces\]'"):
        read_parquet(path)


def test_wrong_types_of_columns_are_a_problem(tmp_path: Path) -> None:
    count = len(ROWS)
    path = tmp_path / "trace.parquet"
    with pytest.raises(Problem, match="the column rank holds string, not numbers"):
        read_parquet(parquet(path, ROWS, rank=["a"] * count))
    with pytest.raises(Problem, match="optype is not a name in every row"):
        read_parquet(parquet(path, ROWS, optype=[1] * count))
    with pytest.raises(Problem, match="optype is not a name in every row"):
        read_parquet(parquet(path, ROWS, optype=[None, *["optimizer"] * (count - 1)]))
    with pytest.raises(Problem, match="duration of operation 1 is nan"):
        read_parquet(parquet(path, ROWS, duration=[None, *[1.0] * (count - 1)]))


def test_a_damaged_parquet_file_is_a_problem_or_a_trace(tmp_path: Path) -> None:
    path = parquet(tmp_path / "trace.parquet", ROWS)
    whole = path.read_bytes()
    rng = random.Random(5)
    for _ in range(60):
        broken = bytearray(whole)
        for _ in range(rng.randint(1, 8)):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        path.write_bytes(broken[: rng.choice([len(broken), len(broken) // 2])])
        with contextlib.suppress(Problem):
            read_parquet(path)
