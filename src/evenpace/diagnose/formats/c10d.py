"""What PyTorch's c10d says of collectives that do not complete, in the words of all its versions.

Two numbers are called rank there. `[rank3]:` before a record is the global rank; `[Rank 3]` and
`[PG ID 1 PG GUID 4(TP) Rank 3]` inside it count within the process group. They are kept apart here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import re2

from evenpace.diagnose.matching import options
from evenpace.diagnose.model import Case, Line

_LONGEST = 16 * 1024
_MOST = 64  # records of one line, members of one list times 64
_GLOBAL = re.compile(r"\[rank(\d{1,6})\[?\]?:")
_IN_FRONT = re.compile(_GLOBAL.pattern.encode() + rb"[^\n]*")
_GROUP = re.compile(
    r"\[PG (?P<local>ID )?(?P<id>\w{1,80}) ?(?:PG GUID (?P<guid>[^\s(\]]{1,80}))? ?"
    r"(?:\((?P<desc>[^)]{0,100})\))? ?Rank (?P<rank>\d{1,6}) ?\]"
)
_IN_GROUP = re.compile(r"\[Rank (\d{1,6}) ?\]")
_WORK = re.compile(r"Work(?:NCCL|HCCL|XCCL)?\((?:SeqNum=(?P<seq>\d{1,18}), ?)?OpType=(?P<op>\w{1,40})")
_ELEMENTS = re.compile(r"(?:NumelIn=|TensorShape=\[)(\d{1,18})")
_LIMIT = re.compile(r"Timeout\(ms\)=(\d{1,12})")
_RAN = re.compile(r"ran for (\d{1,12}) milliseconds")
_AT_WORK = re.compile(r"(?:at work(?: sequence id)?|Timeout at NCCL work): (\d{1,18})")
_STATUS = re.compile(
    r"[Ll]ast enqueued (?:NCCL )?work: (-?\d{1,18}), last completed (?:NCCL )?work: (-?\d{1,18})"
)
_GLOO = re.compile(r"Timed out waiting (\d{1,12})ms for (?:recv|send|the barrier|\w{1,20}) operation")
_STORE = re.compile(
    r"\[(?P<rank>\d{1,6})\] is setting up NCCL communicator and retr(?:ie|ei)ving ncclUniqueId from "
    r"\[(?P<root>\d{1,6})\](?P<rest>.{0,600})"
)
_STORE_LATE = re.compile(r"[Ss]ocket Timeout|[Ww]ait timeout|timed? ?out", re.IGNORECASE)
_FINGERPRINT = re.compile(
    r"Rank (\d{1,6}) is running (?:inconsistent )?collective: CollectiveFingerPrint\("
    r"(?:SequenceNumber=(\d{1,18}),? ?)?OpType=(\w{1,40})(?:, ?TensorShape=\[([^\]]{0,400})\])?"
)
_JOINED = re.compile(r"\[([\d, ]{1,65536})\] joined but didn't finish collective #(\d{1,18})")
_FINISHED = re.compile(r"\[([\d, ]{1,65536})\] finished collective #(\d{1,18}), but didn't join")
_NEVER = re.compile(r"ranks \[([\d, ]{1,65536})\] are the lagging ranks that caused this timeout")
_REACHED = re.compile(r"Rank (\d{1,6}) successfully reached monitoredBarrier")
_BARRIER = re.compile(
    r"Ranks? ([\d, ]{1,65536}) failed to pass monitoredBarrier|"
    r"reported that ranks? ([\d, ]{1,65536}) failed to pass monitored"
)
_CAUGHT = ("Watchdog caught coll", "detected by watchdog at work", "Timeout at NCCL work")
_GATE = (
    *(*_CAUGHT, "ast enqueued", "ran for ", "Timed out waiting", "ncclUniqueId", "FingerPrint"),
    *(
        "reached monitoredBarrier",
        "didn't finish coll",
        "but didn't join",
        "are the lagging ranks",
        "pass monitored",
    ),
)
_ANY = re2.compile("|".join(map(re2.escape, _GATE)), options())


@dataclass(frozen=True, slots=True)
class Stuck:
    """One process gave up waiting: in which operation of which group, its limit and how long it ran (s).

    `rank` is global and None where the line gives only `group_rank`. `group` is empty where it is not told.
    """

    line: Line
    rank: int | None = None
    group_rank: int | None = None
    group: str = ""
    seq: int | None = None
    op: str = ""
    elements: int | None = None
    limit: float | None = None
    ran: float | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """How far one process came in one group; -1 where it does not know."""

    line: Line
    rank: int | None
    group_rank: int | None
    group: str
    enqueued: int
    completed: int


@dataclass(frozen=True, slots=True)
class Running:
    """What one rank of a group runs, as the check of collectives printed it."""

    line: Line
    rank: int
    seq: int | None
    op: str
    shape: str | None
    reporter: int | None = None


@dataclass(frozen=True, slots=True)
class Named:
    """Ranks of a group that c10d itself names. `how`: `joined`, `finished`, `never` or `barrier`."""

    line: Line
    how: str
    ranks: tuple[int, ...]
    seq: int | None = None


@dataclass(frozen=True, slots=True)
class LateRoot:
    """A rank of a group could not get the NCCL id from the group's root in time."""

    line: Line
    rank: int
    root: int
    reporter: int | None


Record = Stuck | Status | Running | Named | LateRoot


def read(lines: Iterable[Line]) -> list[Record]:
    """Return all that c10d says in `lines`, in their order."""
    return [record for line in lines for record in read_line(line)]


def records_in(case: Case) -> list[Record]:
    """Return all that c10d says in a case."""
    return read(case.lines_with(_ANY))


def read_line(line: Line) -> list[Record]:
    """Return what c10d says in one line; nothing for any other line."""
    text = line.text[:_LONGEST]
    if not any(word in text for word in _GATE):
        return []
    return list(islice(_records(line, text), _MOST))


def global_rank(line: Line) -> int | None:
    """Return the global rank in front of a record (`[rank3]:`), or that of the line's prefix."""
    if found := _GLOBAL.search(line.text[:_LONGEST]):
        return int(found[1])
    return line.printer.rank if isinstance(line.printer.rank, int) else None


def ranks_before(case: Case) -> set[int]:
    """Return all ranks that stand in front of a record (`[rank3]:`), the first of each line."""
    return {int(found) for found in case.found(_IN_FRONT)}


def _records(line: Line, text: str) -> Iterator[Record]:
    rank, (group, group_rank) = global_rank(line), _group(text)
    if rank == group_rank and not _GLOBAL.search(text):
        rank = None  # the line's prefix may be this very rank within the group
    status = _STATUS.search(text)
    if (reached := _reached(text)) is not None:
        yield Stuck(line, rank, reached)
    elif stuck := _stuck(text):
        yield Stuck(line, rank, group_rank, group, *stuck)
    if status:
        yield Status(line, rank, group_rank, group, int(status[1]), int(status[2]))
    for one in _FINGERPRINT.finditer(text):
        yield Running(line, int(one[1]), int(one[2]) if one[2] else None, one[3], one[4], rank)
    yield from _named(line, text)
    if (found := _STORE.search(text)) and _STORE_LATE.search(found["rest"]):
        yield LateRoot(line, int(found["rank"]), int(found["root"]), rank)


def _group(text: str) -> tuple[str, int | None]:
    """Return the group that every member calls the same, if it is told, and the rank within the group."""
    if found := _GROUP.search(text):
        name = found["guid"] or ("" if found["local"] and not found["desc"] else found["id"])
        return name if name != "undefined" else "", int(found["rank"])
    inside = _IN_GROUP.search(text)
    return "", int(inside[1]) if inside else None


def _reached(text: str) -> int | None:
    """Return the rank of the group that stands in a monitored barrier and waits for its root."""
    found = _REACHED.search(text)
    return int(found[1]) if found else None


def _stuck(text: str) -> tuple[int | None, str, int | None, float | None, float | None] | None:
    if gloo := _GLOO.search(text):
        return None, "", None, int(gloo[1]) / 1000, None
    work = _WORK.search(text)
    caught = any(word in text for word in _CAUGHT)
    ran = _RAN.search(text)
    if not caught and not (work and ran):
        return None
    at = _AT_WORK.search(text)
    seq = work["seq"] if work and work["seq"] else at[1] if at else None
    elements, limit = _ELEMENTS.search(text), _LIMIT.search(text)
    return (
        int(seq) if seq else None,
        work["op"] if work else "",
        int(elements[1]) if elements else None,
        int(limit[1]) / 1000 if limit else None,
        int(ran[1]) / 1000 if ran else None,
    )


def _named(line: Line, text: str) -> Iterator[Named]:
    for how, pattern in (("joined", _JOINED), ("finished", _FINISHED), ("never", _NEVER)):
        for found in pattern.finditer(text):
            seq = int(found[2]) if pattern is not _NEVER else None
            yield Named(line, how, _ranks(found[1]), seq)
    if barrier := _BARRIER.search(text):
        yield Named(line, "barrier", _ranks(barrier[1] or barrier[2]))


def _ranks(text: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(int(one) for one in re.findall(r"\d{1,9}", text)))


def spelled(ranks: Iterable[int]) -> str:
    """Return ranks as `1, 2, 5`, runs of three and more as `4-7`."""
    runs: list[list[int]] = []
    for rank in sorted(set(ranks)):
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 3 else ", ".join(map(str, run)) for run in runs)
