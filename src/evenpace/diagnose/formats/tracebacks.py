"""Python tracebacks: chained, interleaved between ranks, torn, of DataLoader workers and replicas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from string import ascii_lowercase

import re2

from evenpace.diagnose.identity import from_captures
from evenpace.diagnose.matching import options
from evenpace.diagnose.model import NOBODY, Identity, Line

_LONGEST = 16 * 1024
_OPEN = 64  # tracebacks without an end that one stream may have
_FRAMES = 200
_SPAN = 400  # lines of one stream after which a traceback without an end is given up

_PREFIXES = [
    re2.compile(pattern, options())
    for pattern in (
        r"^\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]? (?:\| )?",
        r"^\d\d:\d\d:\d\d\.\d{1,9} ",
        r"^\[rank ?(?P<rank>\d{1,6})\]:? ?",
        r"^\[Rank (?P<rank>\d{1,6})\]:? ?",
        r"^\[(?:default|trainer|worker)(?P<local_rank>\d{1,3})\]:? ?",
        r"^\[\d{1,9},(?P<rank>\d{1,6})\]<std(?:err|out)>: ?",
        r"^\([\w.]{1,80} pid=(?P<pid>\d{1,9})(?:, ip=(?P<host>[0-9a-fA-F.:]{2,45}))?\) ",
        r"^\[pod/(?P<host>[\w.-]{1,253})/[\w.-]{1,63}\] ",
        r"^ {0,3}(?P<task>\d{1,5}): ",
        r"^(?P<host>[a-z][a-z0-9.-]{0,60}\d): ",
    )
]
_STAMP, _CLOCK, _RANK, _RANK_OLD, _LOCAL, _MPI, _RAY, _POD, _TASK, _HOST = _PREFIXES
_BY_FIRST = {
    "[": (_STAMP, _RANK, _RANK_OLD, _LOCAL, _MPI, _POD),
    "(": (_RAY,),
    " ": (_TASK,),
    **dict.fromkeys("0123456789", (_STAMP, _CLOCK, _TASK)),
    **dict.fromkeys(ascii_lowercase, (_HOST,)),
}
_HEAD = re2.compile(r"(?P<original>Original )?Traceback \(most recent call last\):", options())
# Ray repeats the exception of a task where it was asked for: its name, who ran it, then its frames.
_RAY_TASK = re2.compile(
    r"RayTaskError\(\w{1,80}\): .{0,400}?\(pid=(?P<pid>\d{1,9}), ip=(?P<host>[0-9a-fA-F.:]{2,45})", options()
)
_FRAME = re2.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d{1,9})(?:, in (?P<name>.+))?$', options())
_ERROR = re2.compile(
    r"^(?P<kind>(?:[A-Za-z_]\w{0,80}\.){0,8}[A-Za-z_]\w{0,80})(?:: (?P<message>.*))?:?\s{0,8}$", options()
)
_KIND = re2.compile(
    r"(?:Error|Exception|Exit|Interrupt|Warning|Iteration|Timeout|Failure|Abort|Invalid|NotFound|Group|Cancelled)"
    r"\w{0,24}$",
    options(),
)
_CAUGHT = re2.compile(
    r"Caught (?P<kind>\w{1,80}) in (?:DataLoader worker process (?P<worker>\d{1,5})"
    r"|replica (?P<replica>\d{1,4}) on device (?P<device>\d{1,4})|pin memory thread)",
    options(),
)
_CHAINS = (
    "During handling of the above exception, another exception occurred",
    "The above exception was the direct cause of the following exception",
)
_BEGINNINGS = ("RayTaskError(", "Traceback (most", "above exception", "File ")
_LIBRARY = re2.compile(
    r"(?:site-packages|dist-packages)/|/lib(?:64)?/python\d|^<(?:frozen|string|stdin)|"
    r"^\.\.\.?/(?:torch|lightning|transformers)/|(?:^|/)torch/(?:distributed|multiprocessing|utils|nn|_\w+)[/.]|"
    r"/(?:bin|Scripts)/(?:torchrun|deepspeed|accelerate|colossalai)$",
    options(),
)


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame: file, line, function."""

    file: str
    line: int
    name: str

    @property
    def is_user_code(self) -> bool:
        """Tell whether the file lies outside the installed packages and Python's own library."""
        return _LIBRARY.search(self.file) is None


@dataclass(slots=True)
class Traceback:
    """One exception with its stack. `kind` is empty where the log ends before it.

    `printer` is the process that raised it, `worker` the DataLoader worker where it was raised, `cause` the
    exception before it in its chain, and `line` the line that names the exception. `indent` is how far all
    of it is indented, as in torchrun's table of failures.
    """

    lines: list[Line]
    kind: str = ""
    message: str = ""
    frames: list[Frame] = field(default_factory=list)
    printer: Identity = NOBODY
    worker: int | None = None
    device: int | None = None
    cause: Traceback | None = None
    line: Line | None = None
    indent: int = 0

    @property
    def root(self) -> Traceback:
        """Return the first exception of the chain."""
        found, steps = self, 0
        while found.cause is not None and steps < _FRAMES:
            found, steps = found.cause, steps + 1
        return found

    @property
    def user_frame(self) -> Frame | None:
        """Return the innermost frame of the user's own code."""
        return next((frame for frame in reversed(self.frames) if frame.is_user_code), None)


def split_prefix(text: str) -> tuple[Identity, str, str]:
    """Return who printed a line by the prefixes that launchers put before it, the prefixes, and the rest."""
    who, rest = NOBODY, text[:_LONGEST]
    for _ in range(3):
        for prefix in _BY_FIRST.get(rest[:1], ()):
            if found := prefix.search(rest):
                who = who.or_else(from_captures({k: v for k, v in found.groupdict().items() if v}))
                rest = rest[found.end() :]
                break
        else:
            break
    return who, text[: min(len(text), _LONGEST) - len(rest)], rest


def tracebacks(lines: Iterable[Line]) -> list[Traceback]:
    """Return the exceptions in `lines`, each with its chain, in the order in which they end."""
    streams: dict[tuple[str, str], _Stream] = {}
    found: list[Traceback] = []
    busy: dict[str, set[str]] = {}  # of each file the streams with a traceback that has not ended
    for line in lines:
        if not busy.get(line.source) and not any(words in line.text for words in _BEGINNINGS):
            continue
        who, prefix, rest = split_prefix(line.text)
        key = (line.source, _without_time(prefix) or repr(line.printer.rank))
        stream = streams.setdefault(key, _Stream())
        found += stream.take(line, who.or_else(line.printer), rest)
        if stream.pending:
            busy.setdefault(line.source, set()).add(key[1])
        elif line.source in busy:
            busy[line.source].discard(key[1])
    for stream in streams.values():
        found += stream.finish()
    chained = {id(one.cause) for one in found if one.cause is not None}
    return [one for one in found if id(one) not in chained]


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(" \t"))


def _without_time(prefix: str) -> str:
    for pattern in _PREFIXES[:2]:
        if found := pattern.search(prefix):
            return prefix[found.end() :]
    return prefix


@dataclass
class _Stream:
    """The tracebacks of one printer: those still open, and the last that ended."""

    pending: list[Traceback] = field(default_factory=list)
    last: Traceback | None = None
    chain: Traceback | None = None
    original: Traceback | None = None

    def take(self, line: Line, who: Identity, text: str) -> Iterator[Traceback]:
        """Read one line; yield the exceptions that it ends."""
        if "Traceback (most" in text and (head := _HEAD.search(text)):
            self._begin(Traceback([line], printer=who, indent=_indent(text)), bool(head["original"]))
            return
        if "RayTaskError(" in text and (task := _RAY_TASK.search(text)):
            self.pending, self.chain = [], None
            ran = from_captures(task.groupdict())
            self._begin(Traceback([line], printer=ran, indent=_indent(text)), False)
            return
        if any(words in text for words in _CHAINS):
            self.chain = self.last
            return
        if "File " in text and (frame := _FRAME.search(text)):
            self._frame(line, who, Frame(frame["file"], int(frame["line"]), frame["name"] or ""))
            return
        if self.pending and _indent(text) <= self.pending[-1].indent:
            yield from self._end(line, text.lstrip(" \t"))
        elif self.pending and line.number - self.pending[-1].lines[-1].number > _SPAN:
            self.pending.pop()

    def finish(self) -> list[Traceback]:
        """Return what was still open."""
        left, self.pending = self.pending, []
        return left

    def _begin(self, begun: Traceback, original: bool) -> None:
        if original and self.last is not None and self.last.cause is None:
            self.original = self.last
        else:
            begun.cause, self.chain = self.chain, None
        self.pending = [*self.pending[-_OPEN:], begun]

    def _frame(self, line: Line, who: Identity, frame: Frame) -> None:
        if not self.pending:
            self.pending.append(Traceback([], printer=who))
        last = self.pending[-1]
        if len(last.frames) < _FRAMES:
            last.frames.append(frame)
            last.lines.append(line)

    def _end(self, line: Line, text: str) -> Iterator[Traceback]:
        error = _ERROR.search(text)
        if error is None or not _is_exception(error["kind"], self.pending[-1]):
            return
        ended = self.pending.pop()
        ended.kind, ended.message, ended.line = error["kind"], (error["message"] or "").strip(), line
        ended.lines.append(line)
        if self.original is not None:
            self.original.cause, self.original = ended, None
            return
        if caught := _CAUGHT.search(text):
            ended.worker = int(caught["worker"]) if caught["worker"] else None
            ended.device = int(caught["device"]) if caught["device"] else None
        self.last = ended
        yield ended


def _is_exception(kind: str, begun: Traceback) -> bool:
    name = kind.rsplit(".", 1)[-1]
    if _KIND.search(name):
        return True
    return bool(begun.frames) and (name[:1].isupper() or "." in kind)


def user_frame(traceback: Traceback) -> Frame | None:
    """Return the innermost frame of user code of the chain's root, or of whatever is nearest to it."""
    chain: Sequence[Traceback] = (traceback.root, traceback)
    return next((frame for one in chain if (frame := one.user_frame)), None)
