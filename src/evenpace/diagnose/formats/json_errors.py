"""Errors that agents wrote as JSON: error files of torchelastic, reports of elastic jobs; whole or broken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import re2

from evenpace.diagnose.identity import from_captures
from evenpace.diagnose.matching import options
from evenpace.diagnose.model import NOBODY, Case, Identity, Line

_LONGEST = 16 * 1024
_INNER = 400  # lines that one string may hold
_BLOCK = 400  # lines after which an unclosed block is given up

_RANK = re2.compile(r'^\s*"(?P<rank>\d{1,6})": ?\{', options())
_HOST = re2.compile(r"(?:^|\s)(?P<host>[A-Za-z0-9][\w.-]*) restart \d{1,6} fails: ?\{", options())
_HOST_KEY = re2.compile(r'"(?:host|hostname|node|node_name|ip)": ?"(?P<host>[\w.:-]{1,253})"', options())
_LOCAL = re2.compile(r'"local_rank": ?"?(?P<local_rank>\d{1,4})', options())
_GLOBAL = re2.compile(r'"(?:rank|global_rank|world_rank)": ?"?(?P<rank>\d{1,6})', options())
_PID = re2.compile(r'"pid": ?"?(?P<pid>\d{1,9})', options())
_CODE = re2.compile(r'"(?:exit_?code|exitCode)": ?"?(?P<code>-?\d{1,5})', options())
_STRING = re2.compile(
    r'"(?:message|py_callstack|traceback|error|stack|error_message|errmsg)": ?"(?P<text>(?:[^"\\]|\\.)+)',
    options(),
)
_QUOTED = re2.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?$)', options())
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "/": "/", "r": ""}


@dataclass(frozen=True, slots=True)
class Report:
    """One process's error out of a JSON text: who, its exit code, and the text of its messages as lines.

    The lines keep the number of the line of the file in which their string stands.
    """

    who: Identity
    code: int | None
    lines: tuple[Line, ...]
    messages: tuple[Line, ...] = ()


def reports(lines: Iterable[Line]) -> list[Report]:
    """Return the errors that JSON texts in `lines` report."""
    found: list[Report] = []
    for block, host in _blocks(lines):
        for part in _processes(block):
            report = _report(part, host)
            if report.messages or report.code is not None:
                found.append(report)
    return found


def reports_in(case: Case) -> list[Report]:
    """Return the errors that JSON texts in the lines of a case report."""
    return reports(case.lines)


def identify(lines: Sequence[Line]) -> list[Line]:
    """Return the lines; where JSON names the process that a line is about, it is the line's printer."""
    who = {(line.source, line.number): one.who for one in reports(lines) if one.who for line in one.lines}
    if not who:
        return list(lines)
    return [
        replace(line, printer=line.printer.or_else(said))
        if (said := who.get((line.source, line.number)))
        else line
        for line in lines
    ]


def _blocks(lines: Iterable[Line]) -> Iterator[tuple[list[Line], Identity]]:
    """Yield the runs of lines between the outermost braces, each with the host in front of it."""
    block: list[Line] = []
    host, depth = NOBODY, 0
    for line in lines:
        text = line.text
        if block and (line.source != block[0].source or len(block) >= _BLOCK):
            yield block, host
            block, host, depth = [], NOBODY, 0
        if not block and not (text.rstrip().endswith("{") or ('":' in text and _STRING.search(text))):
            continue
        if not block:
            named = _HOST.search(text)
            host = from_captures({"host": named["host"]}) if named else NOBODY
        block.append(line)
        bare = _bare(text)
        depth += bare.count("{") - bare.count("}")
        if depth <= 0:
            yield block, host
            block, host, depth = [], NOBODY, 0
    if block:
        yield block, host


def _bare(text: str) -> str:
    """Return a line without its strings, so that braces in messages do not count."""
    if '"' not in text:
        return text
    if "\\" not in text:
        return "".join(text.split('"')[::2])
    return str(_QUOTED.sub("", text))


def _processes(block: Sequence[Line]) -> Iterator[list[Line]]:
    """Split a block where a new rank's object begins; what stands before the first belongs to it."""
    part: list[Line] = []
    seen = False
    for line in block:
        if _RANK.search(line.text[:_LONGEST]):
            if seen:
                yield part
                part = []
            seen = True
        part.append(line)
    if part:
        yield part


def _report(part: Sequence[Line], host: Identity) -> Report:
    texts = [line.text[:_LONGEST] for line in part]
    who, code = NOBODY, None
    for text in texts:
        for pattern in (_RANK, _LOCAL, _GLOBAL, _PID, _HOST_KEY):
            if found := pattern.search(text):
                who = who.or_else(from_captures(found.groupdict()))
        if code is None and (number := _CODE.search(text)):
            code = int(number["code"])
    who = who.or_else(host)
    inner = tuple(said for line, text in zip(part, texts, strict=True) for said in _said(line, text, who))
    return Report(who, code, tuple(part), inner)


def _said(line: Line, text: str, who: Identity) -> Iterator[Line]:
    for found in _STRING.finditer(text):
        for piece in unescape(found["text"]).split("\n")[:_INNER]:
            if piece.strip():
                yield replace(line, text=piece, printer=who.or_else(line.printer))


def unescape(text: str) -> str:
    """Return the text of a JSON string's inside; an escape that is not one stays as it is."""
    out: list[str] = []
    escaped = False
    for letter in text:
        if escaped:
            out.append(_ESCAPES.get(letter, "\\" + letter))
            escaped = False
        elif letter == "\\":
            escaped = True
        else:
            out.append(letter)
    return "".join(out)
