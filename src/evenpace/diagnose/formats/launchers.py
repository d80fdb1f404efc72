"""What launchers say about how processes ended: torchrun, DeepSpeed, MPI, Slurm, Ray, Kubernetes, shells."""

from __future__ import annotations

import signal as signals
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import re2

from evenpace.diagnose.formats.json_errors import reports_in
from evenpace.diagnose.identity import from_captures
from evenpace.diagnose.matching import PatternSet, options
from evenpace.diagnose.model import NOBODY, Case, Identity, Line

_LONGEST = 16 * 1024
_WORDS = {
    "killed": 9,
    "segmentation fault": 11,
    "segfault": 11,
    "bus error": 7,
    "aborted": 6,
    "abort": 6,
    "illegal instruction": 4,
    "floating point exception": 8,
    "terminated": 15,
    "interrupt": 2,
    "interrupted": 2,
    "hangup": 1,
    "general protection fault": 11,
    "general protection": 11,
    "divide error": 8,
    "invalid opcode": 4,
}
_CRASHES = r"Segmentation fault|Bus error|Aborted|Illegal instruction|Floating point exception"


@dataclass(frozen=True, slots=True)
class Exit:
    """How one process ended. `code` is negative for a signal; None where nothing tells it.

    `first` is what torchrun calls the root cause: only the first that it saw. `library` is where it crashed.
    """

    launcher: str
    who: Identity
    code: int | None
    lines: tuple[Line, ...]
    first: bool = False
    library: str = ""
    text: str = ""

    @property
    def signal(self) -> int | None:
        """Return the signal that ended it, also where a shell added 128 to it."""
        if self.code is None:
            return None
        if self.code < 0:
            return -self.code
        return self.code - 128 if 128 < self.code <= 128 + 64 else None


@dataclass(frozen=True, slots=True)
class Order:
    """A launcher tells a process to end, or says that it was told so itself (`who` is empty)."""

    who: Identity
    signal: int
    line: Line
    forced: bool = False


_EXITS = {
    "torchrun": r"failed \(exitcode: (?P<code>-?\d+)\) local_rank: (?P<local_rank>\d+) \(pid: (?P<pid>\d+)\)",
    "deepspeed": r"exits with return code = (?P<code>-?\d+)",
    "subprocess": r"CalledProcessError: Command .*returned non-zero exit status (?P<code>\d+)",
    "subprocess-signal": r"died with <Signals\.(?P<signal>SIG\w+): \d+>",
    "lightning": r"\[rank: (?P<rank>\d+)\] Child process with PID (?P<pid>\d+) terminated with "
    r"code (?P<code>-?\d+)",
    "spawn": r"ProcessExitedException: process (?P<local_rank>\d+) terminated with "
    r"(?:signal (?P<signal>SIG\w+)|exit code (?P<code>\d+))",
    "mpirun": r"process rank (?P<rank>\d+) with PID (?P<pid>\d+) on node (?P<host>[\w.:-]+) "
    r"exited on signal (?P<number>\d+)",
    "srun": r"(?:^|\s)srun: error: (?P<host>[\w.,\[\]-]+): tasks? (?P<tasks>[\d,-]+): "
    r"(?:Exited with exit code (?P<code>\d+)|(?P<word>Killed|Terminated|Hangup|Interrupt|Out Of Memory|"
    + _CRASHES
    + "))",
    "ray": r"A worker died or was killed while executing .*"
    r"Worker IP address: (?P<host>[\w.:-]+) .*Worker PID: (?P<pid>\d+)",
    "kubectl": r"command terminated with exit code (?P<code>\d+)",
    "kubernetes": r"^\s*(?:Exit Code:|\"?exitCode\"?:) +(?P<code>[1-9]\d{0,2})\b",
    "shell": r"(?:line \d+: +(?P<pid>\d+) |^)(?P<word>Killed|" + _CRASHES + r")"
    r"(?: +\(core dumped\)|\s*$| {2,}\S| *python)",
    "python": r"Fatal Python error: (?P<word>" + _CRASHES + ")",
    "openmpi-handler": r"\[(?P<host>[\w.-]+):(?P<pid>\d+)\] Signal: [\w ]+ \((?P<number>\d+)\)",
    "glog": r"\*\*\* (?P<signal>SIG[A-Z]+) \(@0x\w+\) received by PID (?P<pid>\d+) ",
    "ucx": r"\[(?P<host>[\w.-]+):(?P<pid>\d+) *:\d+:\d+\] Caught signal (?P<number>\d+) ",
    "kernel": r"(?P<name>[\w./:-]+)\[(?P<pid>\d+)\]: (?P<word>segfault) at \w+ ip \w+ sp \w+ error \w+"
    r"(?: (?:cpu \d+ )?in (?P<library>[\w.+-]+))?",
    "kernel-trap": r"traps: (?P<name>[\w./:-]+)\[(?P<pid>\d+)\] (?:trap )?(?P<word>general protection fault|"
    r"general protection|divide error|invalid opcode) ip:\w+ sp:\w+ error:\w+(?: in (?P<library>[\w.+-]+))?",
}
_NAMES = tuple(_EXITS)
_SEARCH = PatternSet(tuple(_EXITS.values()))
# What all of these have in common, to find the few lines in which one may be.
_ENDED = re2.compile(
    r"exitcode: |return code = |non-zero exit status|died with <Signals|terminated with |exited on signal|"
    r"srun: error: |worker died or was killed|[eE]xit ?Code\"?:|Killed|Fatal Python error|Signal: |"
    r"received by PID|Caught signal|segfault at |traps: |" + _CRASHES,
    options(),
)

_WHO = ("rank", "local_rank", "host", "pid")
_OWN = (
    "python",
    "shell",
    "kubernetes",
    "kubectl",
    "kernel",
    "kernel-trap",
)  # who prints it, or whose host does

_SIGNAL = r"(?:Signals\.)?(?P<signal>SIG[A-Z0-9]+|\d+)"
_ORDERS = [
    re2.compile(pattern, options())
    for pattern in (
        r"Sending process (?P<pid>\d+) closing signal " + _SIGNAL,
        r"(?P<forced>Unable to shutdown process) (?P<pid>\d+) via [\w.]+, forcefully exiting via " + _SIGNAL,
        r"Received " + _SIGNAL + r" death signal",
        r"SignalException: Process \d+ got signal: " + _SIGNAL,
        r"Killing subprocess (?P<deepspeed>\d+)",
        r"\] got (?P<signal>SIGTERM|SIGINT), exiting|Main process received (?P<name>SIGTERM|SIGINT)",
    )
]
_ORDER_WORDS = ("signal", "forcefully", "Killing", "SIGTERM", "SIGINT")
_ORDERED = re2.compile("|".join(_ORDER_WORDS), options())
_MPI_NAME = re2.compile(
    r"Process name: \[\[\d+,\d+\],(?P<rank>\d+)\]|= +PID (?P<pid>\d+) RUNNING AT (?P<host>[\w.:-]+)",
    options(),
)
_MPI_CODE = re2.compile(r"Exit code: +(?P<code>\d+)|= +EXIT CODE: (?P<mpich>\d+)", options())

_LONGEST_HOST = 255
_TABLE = re2.compile(
    r"(?P<root>Root Cause(?: \(first observed failure\))?:\s*$)|(?:Other )?Failures:\s*$", options()
)
_ENTRY = re2.compile(r"\[(?P<number>\d{1,6})\]:\s*$", options())
_FIELD = re2.compile(
    r"(?P<key>time|host|rank|exitcode|error_file|traceback|msg) *: (?P<value>.*)$", options()
)
_RANK = re2.compile(r"^(?P<rank>\d+) \(local_rank: (?P<local_rank>\d+)\)", options())
_CODE = re2.compile(r"^(?P<code>-?\d+) +\(pid: (?P<pid>\d+)\)", options())
_RULE = re2.compile(r"={20,}\s*$", options())


def exits(lines: Sequence[Line]) -> list[Exit]:
    """Return how processes ended, as far as launchers, shells, the kernel and JSON reports in `lines` say."""
    return exits_in(Case((), tuple(lines)))


def exits_in(case: Case) -> list[Exit]:
    """Return how processes ended, as far as the lines of a case say."""
    lines = case.lines
    found = [*_tables(lines), *_mpi_blocks(lines)]
    for line in case.lines_with(_ENDED):
        found += [_exit(_NAMES[which], said, line) for which, said in list(_SEARCH.search(line.text))[:1]]
    found += [
        Exit("json", one.who, one.code, one.lines[:1])
        for one in case.once(reports_in)
        if one.code is not None
    ]
    places = {id(line): at for at, line in enumerate(lines)} if found else {}
    return sorted(found, key=lambda one: places.get(id(one.lines[0]), 0))


def orders_in(case: Case) -> list[Order]:
    """Return the signals that launchers sent or received, as far as the lines of a case say."""
    return orders(case.lines_with(_ORDERED))


def orders(lines: Iterable[Line]) -> list[Order]:
    """Return the signals that launchers sent or received."""
    return [order for line in lines if (order := _order(line))]


def number(text: str | None) -> int | None:
    """Return the number of a signal given by name or number."""
    if not text:
        return None
    if text.isdigit():
        return int(text[:3])
    try:
        return int(signals.Signals[text])
    except KeyError:
        return None


def identify(lines: Sequence[Line]) -> list[Line]:
    """Return the lines; those inside torchrun's failure tables get the process of their entry as printer."""
    who: dict[tuple[str, int], Identity] = {}
    for one in _tables(lines):
        for line in one.lines:
            who[line.source, line.number] = one.who
    if not who:
        return list(lines)
    return [
        replace(line, printer=line.printer.or_else(who[line.source, line.number]))
        if (line.source, line.number) in who
        else line
        for line in lines
    ]


def _order(line: Line) -> Order | None:
    text = line.text[:_LONGEST]
    if not any(word in text for word in _ORDER_WORDS):
        return None
    for pattern in _ORDERS:
        if found := pattern.search(text):
            said = found.groupdict()
            pid = said.get("pid") or said.get("deepspeed")
            who = from_captures({"pid": pid}) if pid else NOBODY
            which = number(said.get("signal") or said.get("name")) or int(signals.SIGTERM)
            return Order(who, which, line, bool(said.get("forced")))
    return None


def _exit(name: str, said: Mapping[str, str], line: Line) -> Exit:
    who = from_captures({key: value for key, value in said.items() if key in _WHO})
    code = int(said["code"][:6]) if "code" in said else None
    if which := said.get("number") or said.get("signal"):
        code = -(number(which) or 0) or None
    elif "word" in said:
        code = -_WORDS.get(said["word"].lower(), 9)
    if name in _OWN:
        who = who.or_else(line.printer)
    return Exit(name, who, code, (line,), library=said.get("library", ""))


def _tables(lines: Sequence[Line]) -> Iterator[Exit]:
    """Yield the entries of torchrun's failure tables."""
    root, open_table = False, False
    entry: list[Line] = []
    source = ""
    for line in lines:
        text = line.text
        if line.source != source:
            yield from _entry(entry, root)
            root, open_table, entry, source = False, False, [], line.source
        if ("ailures:" in text or "Root Cause" in text) and (table := _TABLE.search(text)):
            yield from _entry(entry, root)
            root, open_table, entry = bool(table["root"]), True, []
            continue
        if not open_table:
            continue
        if _ENTRY.search(text) or _RULE.search(text):
            yield from _entry(entry, root)
            entry = [line] if _ENTRY.search(text) else []
            open_table = open_table and bool(entry or not root)
        elif entry and len(entry) < 500 and _is_row(entry[0], line):
            entry.append(line)
    yield from _entry(entry, root)


def _is_row(head: Line, line: Line) -> bool:
    """Tell whether a line can belong to an entry, also where the end of the table is torn off."""
    if line.printer.rank != head.printer.rank:
        return False
    return not line.dated or head.dated or _FIELD.search(line.text[:_LONGEST]) is not None


def _entry(lines: Sequence[Line], root: bool) -> Iterator[Exit]:
    said: dict[str, str] = {}
    for line in lines:
        if (found := _FIELD.search(line.text[:_LONGEST])) and found["key"] not in said:
            said[found["key"]] = found["value"].strip()
    rank = _RANK.search(said.get("rank", ""))
    code = _CODE.search(said.get("exitcode", ""))
    if rank is None and code is None:
        return
    captures = {**(rank.groupdict() if rank else {}), **({"pid": code["pid"]} if code else {})}
    who = from_captures({**captures, "host": said.get("host", "").partition(" ")[0][:_LONGEST_HOST]})
    text = said.get("traceback") or said.get("msg") or ""
    yield Exit("torchrun-table", who, int(code["code"][:6]) if code else None, tuple(lines), root, text=text)


def _mpi_blocks(lines: Sequence[Line]) -> Iterator[Exit]:
    """Yield Open MPI's and MPICH's reports of a process that ended badly: its name, then its code."""
    named: tuple[Line, Identity] | None = None
    for line in lines:
        text = line.text
        if ("Process name" in text or "RUNNING" in text) and (found := _MPI_NAME.search(text)):
            named = (line, from_captures({key: value for key, value in found.groupdict().items() if value}))
        elif named and line.number - named[0].number <= 3 and (code := _MPI_CODE.search(text)):
            value = int((code["code"] or code["mpich"])[:6])
            ended = -value if code["mpich"] and 0 < value < 32 else value
            yield Exit("mpi", named[1], ended, (named[0], line))
            named = None
