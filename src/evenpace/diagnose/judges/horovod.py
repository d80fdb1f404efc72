"""Judge Horovod's stall warnings: which rank does not submit what the others wait for."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import re2

from evenpace.diagnose.formats.c10d import spelled
from evenpace.diagnose.judges.collectives import after_death, evidence, ranks
from evenpace.diagnose.matching import options
from evenpace.diagnose.model import NOBODY, Case, Line, Sighting

_LONGEST = 16 * 1024
_BLOCK = 64  # lines after the head of a list of missing ranks
_LARGEST = 65536  # ranks of a job
_WENT_ON = 3  # lines of training after the last warning that show that it was a pause
_SAYS = re2.compile(
    r"\[(?:missing|ready) ranks: ?\d|(?:Missing|Stalled) ranks: ?$|(?:Missing|Stalled) ranks:\s", options()
)
_LIST = re.compile(r"\[(missing|ready) ranks: ?(\d[\d, ]{0,65536})\]")
_HEAD = re.compile(r"(?:Missing|Stalled) ranks:")
_ITEM = re.compile(r"(?:^|[>\s])(\d{1,6}): \[[\w./:-]")
_GOING_ON = re2.compile(r"(?i)\b(?:step|iter\w*|epoch|batch)\b.{0,120}?\bloss\b", options())


@dataclass(frozen=True, slots=True)
class _Stall:
    """One operation, or all of one rank, that waits: who has submitted it, or who has not."""

    line: Line
    missing: frozenset[int] = frozenset()
    ready: frozenset[int] = frozenset()


def judge(case: Case) -> Iterable[Sighting]:
    """Return the ranks that are missing in all that Horovod waits for, or that they differ."""
    stalls = list(_stalls(case))
    if not stalls or _went_on(case, stalls[-1].line):
        return
    size = case.roster.world or _size(case, stalls)
    if size > _LARGEST:
        return
    each = [one.missing or frozenset(range(size)) - one.ready for one in stalls]
    always = frozenset.intersection(*each)
    shown = always or frozenset.union(*each)
    named = always if always and 2 * len(always) < size else ()
    lines = evidence(stalls[-1].line, [one.line for one in stalls])
    captures = {"ranks": spelled(shown)}
    certainty = after_death(case, named) if named else 0.6
    yield Sighting("horovod-stall", lines, ranks(named) if named else NOBODY, (), captures, certainty)


def _stalls(case: Case) -> Iterator[_Stall]:
    for line in case.lines_with(_SAYS):
        text = line.text[:_LONGEST]
        for found in _LIST.finditer(text):
            listed = frozenset(int(one) for one in re.findall(r"\d{1,6}", found[2]))
            yield _Stall(line, listed) if found[1] == "missing" else _Stall(line, ready=listed)
        if _HEAD.search(text) and (missing := _items(case, line)):
            yield _Stall(line, frozenset(missing))


def _items(case: Case, head: Line) -> list[int]:
    """Return the ranks of the list under a head: `3: [grad_0, grad_1 ...]`, one a line."""
    found: list[int] = []
    lines = case.by_source[head.source]
    begin = bisect_left(lines, head.number, key=lambda line: line.number)
    for line in lines[begin : begin + _BLOCK]:
        if line.number - head.number > _BLOCK or (found and _HEAD.search(line.text[:_LONGEST])):
            break
        text = line.text[: _LONGEST // 16]
        after = text[text.find("ranks:") :] if line.number == head.number else text
        found += [int(one) for one in _ITEM.findall(after)]
    return found


def _size(case: Case, stalls: Sequence[_Stall]) -> int:
    seen = case.roster.ranks.union(*(one.missing | one.ready for one in stalls))
    return max(seen, default=0) + 1


def _went_on(case: Case, last: Line) -> bool:
    steps = [line for line in case.lines_with(_GOING_ON) if line.source == last.source]
    return sum(line.number > last.number for line in steps) >= _WENT_ON
