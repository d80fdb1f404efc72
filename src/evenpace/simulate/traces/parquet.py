"""Traces as Parquet, with pyarrow where it is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from evenpace.errors import Problem
from evenpace.simulate.traces.csv import Progress
from evenpace.simulate.traces.model import (
    LONGEST_NAME,
    MOST_ROWS,
    MOST_TYPES,
    NUMBERS,
    REQUIRED,
    Floats,
    Trace,
    build,
    need_columns,
    too_many_rows,
)

MOST_BYTES = 2 << 30  # of a file unpacked
_BATCH = 1 << 16  # rows


def read_parquet(path: Path, progress: Progress | None = None) -> Trace:
    """Read a trace from a Parquet file; raises Problem, also where pyarrow is missing."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise Problem(
            f"{path} is a Parquet file; pip install 'evenpace[traces]' to read it, or export it as CSV"
        ) from error
    try:
        with parquet.ParquetFile(path) as file:
            return _read(str(path), file, progress)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise Problem(
            f"{path} is not a Parquet file that can be read ({str(error)[:200]}); export the trace again"
        ) from error


def _read(source: str, file: Any, progress: Progress | None) -> Trace:
    names = file.schema_arrow.names
    need_columns(names, source)
    meta = file.metadata
    if meta.num_rows > MOST_ROWS:
        raise too_many_rows(source)
    if sum(meta.row_group(at).total_byte_size for at in range(meta.num_row_groups)) > MOST_BYTES:
        raise Problem(f"{source} is larger than {MOST_BYTES >> 30} GiB unpacked; cut it to fewer steps")
    wanted = [name for name in (*REQUIRED, *NUMBERS) if name in names]
    codes: dict[str, int] = {}
    kinds: list[Any] = []
    numbers: dict[str, list[Floats]] = {name: [] for name in NUMBERS if name in names}
    done = 0
    for batch in file.iter_batches(_BATCH, columns=list(dict.fromkeys(wanted))):
        batch.validate(full=True)  # a damaged file may point outside of its own names
        kinds.append(_kinds(source, batch.column("optype"), codes))
        for name, parts in numbers.items():
            parts.append(_numbers(source, name, batch.column(name)))
        done += batch.num_rows
        if progress:
            progress(done)
    none = [np.empty(0)]
    columns = {name: np.concatenate(parts or none) for name, parts in numbers.items()}
    return build(source, list(codes), np.concatenate(kinds or none).astype(np.int64), columns)


def _kinds(source: str, column: Any, codes: dict[str, int]) -> Any:
    """Return an index into `codes` a row, which grows by the names that are new."""
    import pyarrow as pa

    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    if not all(isinstance(name, str) and len(name) <= LONGEST_NAME for name in names) or encoded.null_count:
        raise Problem(f"{source}: optype is not a name in every row; correct the trace")
    places = np.array([codes.setdefault(name, len(codes)) for name in names], dtype=np.int64)
    if len(codes) > MOST_TYPES:
        raise Problem(f"{source}: more than {MOST_TYPES} types of operations; optype is no name of one")
    return places[encoded.indices.to_numpy(zero_copy_only=False)]


def _numbers(source: str, name: str, column: Any) -> Floats:
    import pyarrow as pa

    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise Problem(f"{source}: the column {name} holds {column.type}, not numbers; correct the trace")
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)
