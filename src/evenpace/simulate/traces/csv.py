"""Traces as CSV, plain or gzipped, read with bounded memory."""

from __future__ import annotations

import csv
import gzip
import zlib
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

import numpy as np

from evenpace.errors import Problem
from evenpace.simulate.traces.model import (
    LONGEST_NAME,
    MOST_ROWS,
    MOST_TYPES,
    NUMBERS,
    Trace,
    build,
    need_columns,
    too_many_rows,
)

LONGEST_LINE = 1 << 16  # characters
_REPORT_EVERY = 50_000  # rows

Progress = Callable[[int], None]  # rows read so far


def read_csv(path: Path, progress: Progress | None = None) -> Trace:
    """Read a trace from a CSV file with a header (`.gz`: gzipped); raises Problem."""
    try:
        with _open(path) as file:
            return _read(path, csv.reader(_lines(path, file)), progress)
    except UnicodeDecodeError as error:
        raise Problem(f"{path} is not a text in UTF-8; give a trace as CSV or Parquet") from error
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise Problem(f"{path} is not a whole gzip file; copy it again") from error
    except csv.Error as error:
        raise Problem(f"{path} is not a CSV file: {error}; export the trace again") from error
    except OSError as error:
        raise Problem(f"cannot read {path}: {error.strerror}; give a file that you may read") from error


def _open(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _lines(path: Path, file: TextIO) -> Iterator[str]:
    while line := file.readline(LONGEST_LINE):
        if len(line) >= LONGEST_LINE:
            raise Problem(f"{path} has a line of more than {LONGEST_LINE} characters; it is no trace")
        yield line


def _read(path: Path, rows: Iterator[list[str]], progress: Progress | None) -> Trace:
    header = [name.strip() for name in next(rows, [])]
    need_columns(header, str(path))
    numbers = {name: array("d") for name in NUMBERS if name in header}
    places = [(header.index(name), column.append) for name, column in numbers.items()]
    where, codes, kinds = header.index("optype"), dict[str, int](), array("q")
    for count, row in enumerate(rows, start=1):
        if count > 2 * MOST_ROWS:  # of empty lines, too, there is an end
            raise too_many_rows(str(path))
        if not row:
            continue
        if len(row) != len(header):
            raise Problem(f"{path}: operation {count} has {len(row)} fields, the header {len(header)}")
        if len(kinds) >= MOST_ROWS:
            raise too_many_rows(str(path))
        kinds.append(codes.setdefault(row[where], len(codes)))
        _numbers(path, count, row, places)
        if len(codes) > MOST_TYPES or len(row[where]) > LONGEST_NAME:
            raise Problem(f"{path}: optype is no name of an operation (operation {count}); correct the trace")
        if progress and count % _REPORT_EVERY == 0:
            progress(count)
    columns = {name: np.array(column) for name, column in numbers.items()}
    return build(str(path), list(codes), np.array(kinds, dtype=np.int64), columns)


def _numbers(
    path: Path, count: int, row: list[str], places: list[tuple[int, Callable[[float], None]]]
) -> None:
    for at, append in places:
        try:
            append(float(row[at] or "nan"))
        except ValueError as error:
            raise Problem(
                f"{path}: {row[at][:LONGEST_NAME]!r} of operation {count} is no number; correct the trace"
            ) from error
