"""py-spy dumps: the stacks of the threads of one process or of many, in one file or in several."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import re2

from evenpace.diagnose.identity import from_captures
from evenpace.diagnose.matching import options
from evenpace.diagnose.model import NOBODY, Case, Identity, Line

_LONGEST = 16 * 1024
_MOST = 100_000  # frames that are kept of all dumps
_THREAD_ID = r"(?:0x[0-9a-fA-F]{1,16}|\d{1,20})"

_PROCESS = re2.compile(r"Process (?P<pid>\d{1,9}): (?P<command>.+)$", options())
_PROCESS_ANYWHERE = re2.compile(r"Process \d{1,9}: ", options())
_THREAD = re2.compile(
    r"Thread " + _THREAD_ID + r' \((?P<state>[a-z+ ]{1,40})\)(?:: "(?P<name>[^"]*)")?'
    r"|Thread (?P<tid>\d{1,20}) \((?P<old>[a-z+ ]{1,40})\)",
    options(),
)
_FRAME = re2.compile(
    r"^\s{2,}(?P<function>\S.*?) \((?P<file>[^():]+)(?::(?P<line>\d{1,9}))?\)\s*$", options()
)
_RANK = [
    re2.compile(pattern, options())
    for pattern in (
        r"(?:^|[^\w-])(?:RANK|WORLD_RANK|global_rank|world_rank)[=:] ?(?P<rank>\d{1,6})",
        r"(?:^|[^a-zA-Z_-])--(?:global[_-])?rank[= ](?P<rank>\d{1,6})",
        r"--local[_-]rank[= ](?P<local_rank>\d{1,4})",
        r"(?i)(?:^|[^a-z_])rank[ _:=-]{0,2}(?P<rank>\d{1,6})",
    )
]


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a stack: function, file, line."""

    function: str
    file: str
    line: int | None
    at: Line


@dataclass(slots=True)
class Thread:
    """One thread: its name, its state as printed (`active+gil`, `idle`), and its frames, innermost first."""

    name: str
    state: str
    frames: list[Frame] = field(default_factory=list)


@dataclass(slots=True)
class Process:
    """One dumped process: who it is as far as the dump, its file or a heading say, and its threads."""

    pid: int
    command: str
    line: Line
    who: Identity = NOBODY
    threads: list[Thread] = field(default_factory=list)

    @property
    def main(self) -> Thread | None:
        """Return the main thread, or the first where none is called so."""
        named = (thread for thread in self.threads if thread.name == "MainThread")
        return next(named, self.threads[0] if self.threads else None)


def processes(lines: Iterable[Line]) -> list[Process]:
    """Return the processes whose stacks py-spy printed in `lines`."""
    found: list[Process] = []
    heading, source, frames = NOBODY, "", 0
    for line in lines:
        text = line.text[:_LONGEST]
        if line.source != source:
            heading, source = _named(line.source), line.source
        if started := _PROCESS.search(text):
            who = _named(started["command"]).or_else(line.printer).or_else(heading)
            who = from_captures({"pid": started["pid"]}).or_else(who)
            found.append(Process(int(started["pid"]), started["command"], line, who))
            heading = _named(line.source)
        elif found and found[-1].line.source == source and (thread := _THREAD.search(text)):
            found[-1].threads.append(Thread(thread["name"] or "", thread["state"] or thread["old"]))
        elif found and found[-1].threads and frames < _MOST and (frame := _FRAME.search(text)):
            number = int(frame["line"]) if frame["line"] else None
            found[-1].threads[-1].frames.append(Frame(frame["function"], frame["file"], number, line))
            frames += 1
        elif "ank" in text or "RANK" in text:
            heading = _named(text).or_else(heading)
    return [process for process in found if process.threads]


def processes_in(case: Case) -> list[Process]:
    """Return the processes whose stacks py-spy printed in a case."""
    dumps = {line.source for line in case.lines_with(_PROCESS_ANYWHERE)}
    return processes(line for line in case.lines if line.source in dumps) if dumps else []


def _named(text: str) -> Identity:
    """Return the rank that a command line, a heading or the name of a file, which may be no text, gives."""
    text = text[:_LONGEST].encode("utf-8", "replace").decode()
    for pattern in _RANK:
        if found := pattern.search(text):
            return from_captures(found.groupdict())
    return NOBODY
