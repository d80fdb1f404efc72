"""Read one log of any size once, and keep what deserves a look: excerpts, counts, and whole short files.

Memory does not depend on the file: a block at a time, and at most MOST_LINES lines of excerpts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from evenpace.diagnose.formats.iterations_scan import Scanner
from evenpace.diagnose.gate import Gate
from evenpace.diagnose.sources import Damaged, Log, open_log

BLOCK = 4 << 20
WHOLE = 1 << 20  # a file up to this size is kept whole, unless there are many
MARGIN = 16 << 10  # bytes looked at around a hit, at most
BEFORE, AFTER = 12, 16  # lines kept around a hit
WIDE_HITS = 40  # of one literal; later ones keep their own line only
SHARE = 6  # the part of a file's excerpts that one literal may fill
MOST_LINES = 40_000  # of excerpts from one file
POINTS = 2_000  # iteration lines kept of one file, about
_BINARY = 0.05  # share of NULs and other controls in the head above which a file is binary
_TEXT_CONTROLS = bytes({7, 8, 9, 10, 12, 13, 27})


class Binary(Exception):
    """Say that a file is not text."""


@dataclass(slots=True)
class Excerpts:
    """Hold what was kept of a file: `(first line's number, bytes)` in order, and the size of it all.

    `lines` counts newlines of the part that was read; `kept` the lines of all excerpts; `damage` says why the
    file could not be read to its end.
    """

    pieces: list[tuple[int, bytes]] = field(default_factory=list)
    size: int = 0
    lines: int = 0
    kept: int = 0
    whole: bool = False
    damage: str = ""
    most: int = MOST_LINES

    def keep(self, first: int, data: bytes, *, always: bool = False) -> bool:
        """Append an excerpt, if there is room for it, or `always`; tell whether it was appended."""
        count = data.count(b"\n") + (not data.endswith(b"\n"))
        room = always or self.kept + count <= self.most
        if room:
            self.pieces.append((first, data))
            self.kept += count
        return room


@dataclass(frozen=True, slots=True)
class Part:
    """Name a file, or a range of its bytes [start, end) that begins and ends after a newline.

    A file of at most `whole` bytes is kept as it is; of a larger one `head` and `tail` bytes of its two ends
    in any case, at most `most` lines of excerpts, and about `points` iteration lines, with those of extreme
    values if `extremes` are wanted.
    """

    path: Path
    start: int = 0
    end: int | None = None
    whole: int = WHOLE
    head: int = 16 << 10
    tail: int = 64 << 10
    most: int = MOST_LINES
    points: int = POINTS
    extremes: bool = True


def sift(part: Part) -> Excerpts:
    """Read a file or a range of it; raises OSError, Binary, Damaged where nothing at all could be read."""
    with open_log(part.path) as file:
        if part.start:
            file.seek(part.start)
        return _sift(file, part)


def _sift(file: Log, part: Part) -> Excerpts:
    found = Excerpts(most=part.most)
    blocks = _Blocks(file, part, found)
    head = blocks.read(max(part.whole, part.head + MARGIN) + 1)
    if part.start == 0 and is_binary(head[: 64 << 10]):
        raise Binary
    if len(head) <= part.whole and part.end is None:
        found.whole = True
        found.lines = head.count(b"\n") + bool(head and not head.endswith(b"\n"))
        found.pieces.append((1, head))
        return found
    size = part.end - part.start if part.end is not None else size_of(part.path)
    pace = _Pace(Scanner(head, size or None, part.points, extremes=part.extremes))
    _Sifter(blocks, part, found, pace, Gate(part.most // SHARE)).run(head)
    return found


def is_binary(head: bytes) -> bool:
    """Tell whether bytes are not text: many controls, unless they are UTF-16."""
    if head[:2] in (b"\xff\xfe", b"\xfe\xff") or not head:
        return False
    odd = len(head.translate(None, delete=bytes(set(range(32, 256)) | set(_TEXT_CONTROLS))))
    return odd / len(head) > _BINARY


class _Blocks:
    """Read a part's bytes, and keep what was read where a compressed file turns out to be damaged."""

    def __init__(self, file: Log, part: Part, found: Excerpts) -> None:
        self._file, self._found = file, found
        self._left = None if part.end is None else part.end - part.start

    def read(self, size: int) -> bytes:
        """Return the next `size` bytes, fewer at the end only."""
        pieces = []
        while size > 0:
            data = self._some(size if self._left is None else min(size, self._left))
            if not data:
                break
            pieces.append(data)
            size -= len(data)
        return b"".join(pieces)

    def _some(self, size: int) -> bytes:
        try:
            data = self._file.read(size) if size else b""
        except Damaged as damage:
            if not self._found.size:
                raise
            self._found.damage = str(damage)
            return b""
        self._found.size += len(data)
        if self._left is not None:
            self._left -= len(data)
        return data


@dataclass(slots=True)
class _Pace:
    """Keep the iteration lines that a series needs, with their numbers."""

    scanner: Scanner
    lines: dict[int, tuple[int, bytes]] = field(default_factory=dict)  # by their offset in the file

    def feed(self, buffer: bytes, start: int, end: int, base: int, number: int) -> None:
        """Take `buffer[start:end]`; the buffer begins at byte `base`, line `number` at `start`."""
        if self.scanner.extremes:
            self.scanner.feed(buffer[start:end], base + start)
        else:
            self.scanner.sample(buffer, end, base)
        place = start
        for offset in self.scanner.offsets():
            begin = offset - base
            if begin < start or begin >= end:
                continue
            number += buffer.count(b"\n", place, begin)
            place = begin
            self.lines[offset] = (number, buffer[begin : _line_end(buffer, begin)])

    def into(self, found: Excerpts) -> None:
        """Put the lines between the excerpts, unless they are in one."""
        kept = {self.lines[offset] for offset in self.scanner.offsets() if offset in self.lines}
        merged: list[tuple[int, bytes]] = []
        covered = 0
        for first, data in sorted([*found.pieces, *kept], key=lambda piece: (piece[0], -len(piece[1]))):
            if first >= covered:
                merged.append((first, data))
                covered = first + data.count(b"\n")
        found.pieces = merged


@dataclass(slots=True)
class _Sifter:
    blocks: _Blocks
    part: Part
    found: Excerpts
    pace: _Pace
    gate: Gate
    base: int = 0  # offset of the buffer in the part
    line: int = 1  # number of the line that begins at `at`
    at: int = 0  # offset in the buffer up to which lines were counted
    kept_to: int = 0  # offset in the buffer up to which lines are in an excerpt already

    def run(self, head: bytes) -> None:
        """Sift everything: `head` is what was read already."""
        buffer, scanned = head, 0
        self._keep(buffer, 0, _line_end(buffer, min(self.part.head, len(buffer))))
        while True:
            more = self.blocks.read(BLOCK)
            last = not more
            buffer += more
            safe = len(buffer) - MARGIN - 1
            until = len(buffer) if last else _line_end(buffer, safe) if safe > scanned else scanned
            self._scan(buffer, scanned, until)
            if last:
                break
            cut = _line_start(buffer, max(0, until - max(MARGIN, self.part.tail)))
            self._count(buffer, cut)
            self.at = max(0, self.at - cut)
            self.kept_to = max(0, self.kept_to - cut)
            self.base += cut
            buffer, scanned = buffer[cut:], until - cut
        tail = _line_start(buffer, max(0, len(buffer) - self.part.tail))
        self._keep(buffer, tail, len(buffer), always=True)
        self._count(buffer, len(buffer))
        self.pace.into(self.found)
        self.found.lines = self.line - 1 + bool(buffer and not buffer.endswith(b"\n"))

    def _count(self, buffer: bytes, to: int) -> None:
        """Count lines up to an offset that is not before those counted so far."""
        if to > self.at:
            self.line += buffer.count(b"\n", self.at, to)
            self.at = to

    def _scan(self, buffer: bytes, start: int, end: int) -> None:
        ahead = buffer.count(b"\n", start, self.at)  # of what was kept behind the last scan's end
        number = self.line - ahead if ahead else self.line + buffer.count(b"\n", self.at, start)
        self.pace.feed(buffer, start, end, self.base, number)
        for at, literal in self.gate.hits(buffer, start, end):
            wide = self.gate.seen(literal) <= max(2, min(WIDE_HITS, self.part.most // 100))
            before, after = (BEFORE, AFTER) if wide else (0, 0)
            self._keep(buffer, _back(buffer, at, before), _forth(buffer, at, after))

    def _keep(self, buffer: bytes, start: int, end: int, *, always: bool = False) -> None:
        start = max(start, self.kept_to)
        if start >= end:
            return
        self._count(buffer, start)
        if self.found.keep(self.line, buffer[start:end], always=always):
            self.kept_to = end


def _line_end(buffer: bytes, at: int) -> int:
    """Return the offset after the newline that ends the line at `at`, not more than MARGIN further."""
    found = buffer.find(b"\n", at, at + MARGIN)
    return min(len(buffer), at + MARGIN) if found < 0 else found + 1


def _line_start(buffer: bytes, at: int) -> int:
    return buffer.rfind(b"\n", max(0, at - MARGIN), at) + 1 or max(0, at - MARGIN if at > MARGIN else 0)


def _back(buffer: bytes, at: int, lines: int) -> int:
    place = _line_start(buffer, at)
    for _ in range(lines):
        if place <= 0 or at - place > MARGIN:
            break
        place = _line_start(buffer, place - 1)
    return place


def _forth(buffer: bytes, at: int, lines: int) -> int:
    place = _line_end(buffer, at)
    for _ in range(lines):
        newline = buffer.find(b"\n", place, at + MARGIN)
        if newline < 0:
            break
        place = newline + 1
    return place


def split(path: Path, size: int, most: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of at most about `most` bytes of a plain file, each beginning after a newline."""
    with path.open("rb") as file:
        start = 0
        while start < size:
            end = min(size, start + most)
            if end < size:
                file.seek(end)
                window = file.read(MARGIN)
                end += window.find(b"\n") + 1 if b"\n" in window else len(window)
            yield start, min(end, size)
            start = end


def size_of(path: Path) -> int:
    """Return a file's size in bytes; 0 where nobody knows it."""
    try:
        return os.stat(path).st_size  # noqa: PTH116  an upload is no path, but has one
    except OSError:
        return 0
