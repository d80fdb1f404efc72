"""Read many logs at once: each file or range of a file in a process of its own, put together in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from evenpace.diagnose.formats import json_errors, launchers
from evenpace.diagnose.formats.clean import decode
from evenpace.diagnose.formats.flight_recorder import read_dump
from evenpace.diagnose.formats.iterations import series_of
from evenpace.diagnose.gate import prepare
from evenpace.diagnose.lines import read_lines
from evenpace.diagnose.model import Case, Line, Series, Source
from evenpace.diagnose.sift import MOST_LINES, POINTS, WHOLE, Binary, Excerpts, Part, sift, size_of, split
from evenpace.diagnose.sources import STDIN, Damaged, Inputs, is_packed, open_log
from evenpace.errors import Problem

RANGE = 128 << 20  # bytes of a large file that one process reads
ALL_WHOLE = 24 << 20  # bytes of input up to which short files are kept whole
PACKED = 20  # a compressed log unpacks to about so many times its size
ENDS = 1 << 20  # bytes kept of all files' ends together, where there is more
LINES = 200_000  # of all excerpts together
SAMPLED = 256 << 20  # bytes of input above which iteration lines are sampled evenly only
PACE = 8_000  # iteration lines of all large files together
LARGEST_DUMP = 32 << 20  # bytes of a pickled dump
SMALL = 32 << 20  # bytes of input that are not worth a second process

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Reading:
    """Hold what one part of one file gave; `skipped` is a reason of `Inputs.skip`, or empty."""

    path: Path
    source: Source
    lines: tuple[Line, ...] = ()
    series: tuple[Series, ...] = ()
    dumps: tuple[object, ...] = ()
    skipped: str = ""
    damage: str = ""


def read(inputs: Inputs, *, jobs: int | None = None, progress: Progress | None = None) -> Case:
    """Read the files into one case; what cannot be read is added to `inputs.skipped`.

    `jobs` is the number of processes (1: none beside this one), the number of cores by default. `progress` is
    told the bytes read so far and the bytes there are. Raises Problem where a process that reads was killed.
    """
    parts = _parts(inputs.files)
    whole = sum(_bytes(part) for part in parts)
    jobs = jobs or os.cpu_count() or 1
    with _executor(1 if whole < SMALL or len(parts) < 2 else min(jobs, len(parts))) as run:
        readings = []
        done = 0
        for part, reading in zip(parts, run(read_part, parts), strict=True):
            readings.append(reading)
            done += _bytes(part)
            if progress:
                progress(done, whole)
    return _case(readings, inputs)


def _bytes(part: Part) -> int:
    return size_of(part.path) - part.start if part.end is None else part.end - part.start


@contextmanager
def _executor(jobs: int) -> Iterator[Callable[..., Iterable[Reading]]]:
    if jobs == 1:
        yield map
        return
    prepare()  # once, and not in each process
    pool: Executor = ProcessPoolExecutor(jobs)
    try:
        with pool:
            yield pool.map
    except BrokenProcessPool:
        raise Problem(
            "a process that reads the logs was killed, perhaps for its memory; name fewer logs at once"
        ) from None


def _parts(files: Sequence[Path]) -> list[Part]:
    size = sum(_unpacked(path) for path in files)
    if size <= ALL_WHOLE:
        return [Part(path) for path in files]
    ends = max(2 << 10, min(64 << 10, ENDS // max(1, len(files))))
    ranges = [(path, *range_) for path in files for range_ in _ranges(path)]
    most = min(MOST_LINES, max(200, LINES // len(ranges)))
    points = min(POINTS, max(12, PACE // len(ranges)))
    template = Part(
        Path(),
        whole=min(WHOLE, 2 * ends),
        head=ends // 2,
        tail=ends,
        most=most,
        points=points,
        extremes=size <= SAMPLED,
    )
    return [replace(template, path=path, start=start, end=end) for path, start, end in ranges]


def _unpacked(path: Path) -> int:
    """Return about how many bytes a file holds once it is unpacked."""
    try:
        return size_of(path) * (PACKED if str(path) != STDIN and path.is_file() and is_packed(path) else 1)
    except OSError:
        return 0  # told when it is read


def _ranges(path: Path) -> Iterator[tuple[int, int | None]]:
    size = size_of(path)
    try:
        if str(path) != STDIN and size > 2 * RANGE and path.is_file() and not is_packed(path):
            yield from split(path, size, RANGE)
            return
    except OSError:
        pass  # told when it is read
    yield 0, None


def read_part(part: Part) -> Reading:
    """Read one part of one file; whatever goes wrong is in the answer."""
    name = "standard input" if str(part.path) == STDIN else str(part.path)
    source = Source(name)
    try:
        excerpts = sift(part)
    except Binary:
        return _pickled(part.path, source)
    except Damaged as damage:
        return Reading(part.path, source, skipped="damaged", damage=str(damage))
    except OSError:
        return Reading(part.path, source, skipped="unreadable")
    if not excerpts.size:
        return Reading(part.path, source, skipped="empty")
    return _understood(part, name, excerpts)


def _pickled(path: Path, source: Source) -> Reading:
    """Read a pickled dump of the flight recorder, which is the one binary file that says something."""
    with open_log(path) as file:
        data = file.read(LARGEST_DUMP + 1)
    dump = read_dump(source.name, data) if data[:1] == b"\x80" and len(data) <= LARGEST_DUMP else None
    if dump is None:
        return Reading(path, source, skipped="binary")
    return Reading(path, replace(source, size=len(data)), dumps=(dump,))


def _understood(part: Part, name: str, excerpts: Excerpts) -> Reading:
    if excerpts.whole and (dump := read_dump(name, excerpts.pieces[0][1])):
        return Reading(part.path, Source(name, excerpts.size), dumps=(dump,))
    lines = tuple(line for first, data in excerpts.pieces for line in read_lines(name, decode(data), first))
    dated = [line.time for line in lines if line.dated and line.time is not None]
    source = Source(
        name,
        excerpts.size,
        excerpts.lines,
        max(0, excerpts.lines - excerpts.kept) if not excerpts.whole else 0,
        min(dated, default=None),
        max(dated, default=None),
    )
    return Reading(part.path, source, lines, series_of(lines), damage=excerpts.damage)


def _case(readings: Sequence[Reading], inputs: Inputs) -> Case:
    sources: list[Source] = []
    lines: list[Line] = []
    series: list[Series] = []
    dumps: list[object] = []
    for name, parts in groupby(readings, key=lambda reading: reading.source.name):
        merged = Source(name)
        for part in parts:
            if part.skipped:
                inputs.skip(part.skipped, name)
                continue
            if part.damage:
                inputs.skip("damaged", name)
            lines += _moved(part.lines, merged.lines)
            series += part.series
            dumps += part.dumps
            merged = _joined(merged, part.source)
        if merged.size:
            sources.append(merged)
    lines = json_errors.identify(launchers.identify(lines))
    return Case(tuple(sources), tuple(lines), tuple(series), tuple(dumps))


def _moved(lines: Iterable[Line], by: int) -> Iterable[Line]:
    return (replace(line, number=line.number + by) for line in lines) if by else lines


def _joined(one: Source, other: Source) -> Source:
    return Source(
        one.name,
        one.size + other.size,
        one.lines + other.lines,
        one.scanned_only + other.scanned_only,
        min((time for time in (one.first, other.first) if time is not None), default=None),
        max((time for time in (one.last, other.last) if time is not None), default=None),
    )
