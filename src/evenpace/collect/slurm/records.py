"""Split what `scontrol show` prints into records of fields: one line each, or in blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator

MOST = 1_000_000  # records
_FIELD = re.compile(r"(?:^|\s)([A-Za-z][A-Za-z0-9_:/.-]{0,40})=")
Fields = dict[str, str]


def records(text: str, first: str) -> Iterator[str]:
    """Yield the text of each record in one line; a line that begins with the field `first` starts one."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith(f"{first}="):
            if lines:
                yield " ".join(lines)
            lines = [line.strip()]
        elif line[:1].isspace() and lines:
            lines.append(line.strip())
    if lines:
        yield " ".join(lines)


def fields(record: str) -> list[tuple[str, str]]:
    """Return the fields in their order, a name as often as it comes; values may hold spaces."""
    marks = list(_FIELD.finditer(record))
    ends = [mark.start() for mark in marks[1:]] + [len(record)]
    return [(mark.group(1), record[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=True)]


def trusted(record: str) -> Fields:
    """Return the fields of a record that administrators write: of a name that comes twice, the first."""
    return dict(reversed(fields(record)))


def suspicious(record: str) -> Fields:
    """Return the fields of a record with texts of users: a name that comes with two values is left out.

    `JobName=x JobState=FAILED` is a name that anybody may give a job.
    """
    found: Fields = {}
    forged: set[str] = set()
    for name, value in fields(record):
        if found.setdefault(name, value) != value:
            forged.add(name)
    return {name: value for name, value in found.items() if name not in forged}
