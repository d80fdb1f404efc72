"""Make clean lines of a log's text: colours out, wrapped lines joined, records that ran together split."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from evenpace.diagnose.formats import (
    clean,
    kernel,
    kinds,
    labels,
    names,
    nccl,
    prefixes,
    splits,
    stamps,
    wraps,
)
from evenpace.diagnose.formats.labels import Labels
from evenpace.diagnose.formats.prefixes import Header
from evenpace.diagnose.formats.stamps import Stamp
from evenpace.diagnose.model import Identity, Line

decode = clean.decode


@dataclass(slots=True)
class _Record:
    """Hold a record on its way to a line."""

    number: int
    text: str
    header: Header
    printer: Identity
    format: str


@dataclass(frozen=True)
class _Piece:
    """Hold what the whole piece of a log tells about each of its lines."""

    text: str
    labels: Labels
    named: Identity

    @cached_property
    def hosts(self) -> frozenset[str]:
        return nccl.hosts(self.text)


def read_lines(source: str, text: str, first: int = 1) -> list[Line]:
    """Return the records of `text`, a piece of file `source` that begins at line `first` (1-based)."""
    text = clean.clean(text)
    lines = text.split("\n")
    joined = wraps.join(lines, first)
    piece = _Piece(text, labels.of(lines, text), names.from_name(source))
    records = list(_records(joined, piece))
    _continue_kernel(records)
    times = stamps.resolve([record.header.stamp for record in records], _hint(records, text))
    _name_weakest(piece.named, records, text)
    return [
        Line(source, record.number, record.text, record.printer, time, dated, record.format)
        for record, (time, dated) in zip(records, times, strict=True)
    ]


def _records(joined: list[tuple[int, str]], piece: _Piece) -> Iterator[_Record]:
    traces = kinds.Tracebacks()
    under_prompt: str | None = None
    for number, line in joined:
        if not line or line.isspace():
            continue
        is_prompt, host = names.prompt(line)
        under_prompt = host if is_prompt else under_prompt
        for text, header, found in _split(line, piece):
            body = text[header.end :]
            printer = _printer(text, header, body, found)
            key = header.printer
            form = _format(text, header, body, found, traces.holds(key, body))
            if under_prompt:
                printer = printer.or_else(Identity(host=under_prompt))
            yield _Record(number, text, header, printer, form)


def _split(line: str, piece: _Piece) -> Iterator[tuple[str, Header, list[str]]]:
    """Yield the records of one line with their headers and the formats they have marks of."""
    if "\r" not in line:
        yield from _parts(line, piece)
        return
    last: tuple[str, Header, list[str]] | None = None
    for segment in clean.segments(line):
        for part in _parts(segment, piece):
            if last and not _redrawn(last[0], part[0]):
                yield last
            last = part
    if last:
        yield last


def _parts(segment: str, piece: _Piece) -> Iterator[tuple[str, Header, list[str]]]:
    found = kinds.kinds(segment)
    header = prefixes.read(segment, piece.labels)
    if kinds.SPLIT not in found and len(segment) <= clean.LONGEST:
        yield segment.rstrip(), _from_json(segment, header), found
        return
    if (
        len(segment) <= clean.LONGEST
        and not segment[-1:].isspace()
        and not splits.is_several(segment, header.end)
    ):
        yield segment, _from_json(segment, header), found
        return
    last = ""
    for order, text in enumerate(splits.pieces(segment, header.end, piece.hosts)):
        if last and not _redrawn(last, text):
            yield _part(last, header, piece, order == 1)
        last = text
    yield _part(last, header, piece, last == segment)


def _part(text: str, first: Header, piece: _Piece, is_first: bool) -> tuple[str, Header, list[str]]:
    text = text[: clean.LONGEST].rstrip()
    header = prefixes.read(text, piece.labels if is_first else labels.UNLABELLED)
    if not is_first and first.gatherer:
        header.add(first.gatherer)
        header.stamp = header.stamp or first.stamp
    return text, _from_json(text, header), kinds.kinds(text)


def _redrawn(last: str, record: str) -> bool:
    end = clean.bar_end(last)
    return end > 0 and not last[end:].strip() and clean.redraw_key(last) == clean.redraw_key(record)


def _from_json(text: str, header: Header) -> Header:
    if text[header.end : header.end + 1] != "{" or not text.endswith("}") or '"' not in text:
        return header
    if said := kernel.from_json(text[header.end :]):
        header.add(said.printer, gathered=True)
        header.program = header.program or said.program
        header.is_kernel = header.is_kernel or said.program == "kernel"
        if header.stamp is None and said.seconds is not None:
            header.stamp = Stamp(header.end, stamps.DATED, said.seconds)
    return header


def _printer(text: str, header: Header, body: str, found: list[str]) -> Identity:
    printer = header.printer
    if "[PG " in body and (rank := nccl.global_rank(text, header.end)) is not None and rank != printer.rank:
        if isinstance(printer.rank, int) and printer.local_rank is None:
            return replace(printer, rank=rank, local_rank=printer.rank)
        return printer.or_else(Identity(rank=rank))
    if "nccl" in found and ": Test " in body:
        return printer.or_else(nccl.test_failure(text, header.end))
    return printer


def _format(text: str, header: Header, body: str, found: list[str], is_trace: bool) -> str:
    form = kinds.best(found)
    if form == "plain" and body is not text:
        form = kinds.best(kinds.kinds(body))
    if form == "scheduler":
        return form
    if header.is_kernel:
        return "kernel"
    if header.program == "kubelet":
        return "kubernetes"
    if is_trace:
        return "traceback"
    return "plain" if form == "iteration" and kinds.is_complaint(text) else form


def _continue_kernel(records: list[_Record]) -> None:
    """Let what follows a stamped kernel record without a stamp of its own have its stamp and host."""
    for last, record in pairwise(records):
        if last.format != "kernel" or record.header.stamp or record.header.is_kernel:
            continue
        indented = record.text.startswith(("        ", "\t"))
        if indented or (record.text.startswith("NVRM: ") and last.header.stamp):
            record.format = "kernel"
            record.header.stamp = last.header.stamp
            record.printer = record.printer.or_else(last.printer)


def _hint(records: list[_Record], text: str) -> float | None:
    """Return a date that the text mentions, for stamps without a year or day."""
    lacking = any(record.header.stamp and record.header.stamp.kind in (1, 2) for record in records)
    if not lacking:
        return None
    mentioned = stamps.anywhere(text, 0, len(text))
    return mentioned[1].seconds if mentioned else None


def _name_weakest(named: Identity, records: list[_Record], text: str) -> None:
    """Let the file's name tell who printed what says nothing else, unless a line in it tells otherwise."""
    several = len({record.header.gatherer for record in records if record.header.gatherer}) > 1
    if isinstance(named.host, str) and (several or names.mentions_other_host(text, named.host)):
        named = replace(named, host=None)
    for field in ("rank", "local_rank", "host"):
        mine = getattr(named, field)
        if mine is not None and any(getattr(record.printer, field) not in (None, mine) for record in records):
            named = replace(named, **{field: None})
    if named:
        for record in records:
            record.printer = record.printer.or_else(named)
