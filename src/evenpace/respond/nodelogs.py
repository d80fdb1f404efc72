"""Read what the nodes of one incarnation logged, and the exceptions that the tap recorded, as one case."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from evenpace.diagnose.formats import json_errors, launchers
from evenpace.diagnose.lines import read_lines
from evenpace.diagnose.model import Case, Identity, Line
from evenpace.diagnose.reading import read_part
from evenpace.diagnose.sift import MOST_LINES, WHOLE, Part, size_of
from evenpace.findings import Finding

LAST = 64 << 20  # bytes at the end of a log that are read
TOGETHER = 64 << 20  # of all logs, which takes about a second
KEPT = 16 << 20  # of all logs that are kept whole
POINTS = 200  # iteration lines kept of a large log, about
LONGEST_LINE = 1 << 20
_EXCEPTION = re.compile(r"rank (\d{1,7}) exception")


def case_of(logs: Iterable[Path], finding: Finding) -> Case:
    """Read the ends of `logs`, as far as they can be read, and the exceptions among the finding's evidence.

    An exception stands in its ring before the worker prints it, and says for certain which rank it is of.
    """
    readings = [read_part(part) for part in _parts(list(logs))]
    lines = [*_recorded(finding), *(line for reading in readings for line in reading.lines)]
    sources = tuple(reading.source for reading in readings if not reading.skipped)
    series = tuple(one for reading in readings for one in reading.series)
    return Case(sources, tuple(json_errors.identify(launchers.identify(lines))), series)


def exceptions(finding: Finding) -> Mapping[int, str]:
    """Return by rank the exceptions that the tap recorded: `Type: message`, then the traceback."""
    found = ((_EXCEPTION.fullmatch(item.source), item.text) for item in finding.evidence)
    return {int(match[1]): text for match, text in found if match and text}


def recorded_rank(source: str) -> int | None:
    """Return the rank whose recorded exception is the source of a line."""
    match = _EXCEPTION.fullmatch(source)
    return int(match[1]) if match else None


def _recorded(finding: Finding) -> Iterator[Line]:
    for rank, text in exceptions(finding).items():
        headline, _, trace = text.partition("\n")
        told = trace if headline[:200] in trace else text
        for line in read_lines(f"rank {rank} exception", told):
            yield replace(line, printer=line.printer.or_else(Identity(rank=rank)))


def _parts(logs: list[Path]) -> list[Part]:
    count = max(1, len(logs))
    limit = min(LAST, TOGETHER // count)
    whole, most = min(WHOLE, KEPT // count), min(MOST_LINES, max(200, 2 * MOST_LINES // count))
    return [Part(path, start=_start(path, limit), whole=whole, most=most, points=POINTS) for path in logs]


def _start(path: Path, limit: int) -> int:
    """Return where the last `limit` bytes of a file begin, moved on to the start of a line."""
    start = size_of(path) - limit
    if start <= 0:
        return 0
    try:
        with path.open("rb") as file:
            file.seek(start)
            file.readline(LONGEST_LINE)
            return file.tell()
    except OSError:
        return 0  # told as unreadable when it is read
