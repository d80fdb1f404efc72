"""A trace of operations: one row an operation, in the layout of what-if analyses, checked on the way in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenpace.errors import Problem

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

REQUIRED = ("dp_rank", "stage", "rank", "step", "optype", "start_ts", "duration", "seq_id")
OPTIONAL = ("mb_id", "mc", "gmc")  # -1 where an operation has none
NUMBERS = tuple(name for name in REQUIRED + OPTIONAL if name != "optype")

MOST_ROWS = 4_000_000
MOST_TYPES = 64
LONGEST_NAME = 64
HIGHEST_INDEX = 2**40  # of ranks, stages, steps
LONGEST = 1e6  # seconds that an operation may last
LATEST = 1e12  # seconds; start times may count from any moment


@dataclass(frozen=True, slots=True)
class Trace:
    """Operations, one a row of each array; times in seconds, `type` an index into `types`.

    `mb` is the micro-batch and `chunk` the model chunk counted over the whole model (-1: none); `seq` counts
    operations of one type in a step on a worker.
    """

    types: tuple[str, ...]
    type: Ints
    replica: Ints
    stage: Ints
    rank: Ints
    step: Ints
    seq: Ints
    mb: Ints
    chunk: Ints
    start: Floats
    duration: Floats

    def __len__(self) -> int:
        return len(self.type)

    def pick(self, rows: NDArray[np.bool_] | Ints) -> Trace:
        """Return the trace of some rows."""
        arrays = (getattr(self, name) for name in self.__dataclass_fields__ if name != "types")
        return Trace(self.types, *(array[rows] for array in arrays))


def need_columns(names: Sequence[str], source: str) -> None:
    """Raise Problem where a column is missing or there twice."""
    missing = [name for name in REQUIRED if name not in names]
    if missing:
        raise Problem(
            f"{source} has no column {', '.join(missing)}; a trace has the columns "
            f"{', '.join(REQUIRED + OPTIONAL)}"
        )
    doubled = [name for name in REQUIRED + OPTIONAL if list(names).count(name) > 1]
    if doubled:
        raise Problem(f"{source} has the column {doubled[0]} twice; keep one")


def too_many_rows(source: str) -> Problem:
    """Return what to say of a trace that is too long."""
    return Problem(f"{source} has more than {MOST_ROWS:,} operations; cut it to fewer steps")


def build(source: str, names: Sequence[str], kinds: Ints, numbers: Mapping[str, Floats]) -> Trace:
    """Check columns and make a trace of them.

    `names` are the types of operations, `kinds` an index into them a row, `numbers` the other columns as
    float64. Raises Problem with the row (counted from 1) of the first value that cannot be.
    """
    if not len(kinds):
        raise Problem(f"{source} holds no operation; export the trace again")
    columns = {name: _index(source, name, numbers.get(name)) for name in NUMBERS if name not in _TIMES}
    none = np.full(len(kinds), -1, dtype=np.int64)
    found = {name: none if column is None else column for name, column in columns.items()}
    return Trace(
        types=tuple(names),
        type=kinds,
        replica=found["dp_rank"],
        stage=found["stage"],
        rank=found["rank"],
        step=found["step"],
        seq=found["seq_id"],
        mb=found["mb_id"],
        chunk=found["mc"] if columns["gmc"] is None else found["gmc"],
        start=_times(source, "start_ts", numbers["start_ts"], -LATEST, LATEST),
        duration=_times(source, "duration", numbers["duration"], 0.0, LONGEST),
    )


_TIMES = ("start_ts", "duration")


def _index(source: str, name: str, values: Floats | None) -> Ints | None:
    if values is None:
        return None
    lowest = -1 if name in OPTIONAL else 0
    if name in OPTIONAL:
        values = np.where(np.isnan(values), -1, values)
    wrong = ~((values >= lowest) & (values <= HIGHEST_INDEX) & (values == np.floor(values)))
    _complain(source, name, values, wrong, f"a whole number from {lowest} to {HIGHEST_INDEX}")
    return values.astype(np.int64)


def _times(source: str, name: str, values: Floats, least: float, most: float) -> Floats:
    wrong = ~((values >= least) & (values <= most))
    _complain(source, name, values, wrong, f"seconds from {least:g} to {most:g}")
    return values


def _complain(source: str, name: str, values: Floats, wrong: NDArray[np.bool_], wanted: str) -> None:
    if not wrong.any():
        return
    row = int(np.argmax(wrong))
    raise Problem(
        f"{source}: {name} of operation {row + 1} is {values[row]:g}, not {wanted}"
        f"{f'; so are {int(wrong.sum()) - 1} others' if wrong.sum() > 1 else ''}; correct the trace"
    )
