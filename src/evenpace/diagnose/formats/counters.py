"""Own work that a process counts aloud: `Rank 0 processing sample 1122 / 2648`, line after line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import re2

from evenpace.diagnose.matching import options
from evenpace.diagnose.model import Case, Line

_LONGEST = 4096
_MOST = 4096  # labels that are followed
_WORK = (
    r"(?:process|evaluat|generat|scor|comput|encod|render|load|download|upload|pars|index|tokeniz|convert|"
    r"valid|infer|predict|extract|build|cach|writ|read|pack|filter|hash|copy|simulat|decod|sampl|pre-?process|"
    r"pre-?comput|embedd?)ing\b"
)
_COUNT = re2.compile(
    rf"(?i){_WORK}[^|\n]{{0,80}}?[ (\[#](?P<done>\d{{1,12}}) ?(?:/|of) ?(?P<total>\d{{1,12}})\b", options()
)
_OWN_RANK = re.compile(r"\b[Rr]ank[ :=#]{0,2}(\d{1,6})\b")
_TRAINING = re2.compile(r"(?i)\b(?:loss|lr|learning[_ ]rate|grad[_ ]norm|epoch|train\w*)\b|%\|", options())


@dataclass(frozen=True, slots=True)
class Counter:
    """One count as it was last seen: who counts (as the line says it), how far, and of how many."""

    line: Line
    rank: int | None
    done: int
    total: int


def counters_in(case: Case) -> list[Counter]:
    """Return the counts that one process alone made, rose at least once and have not reached their end."""
    return counters(case.lines_with(_COUNT))


def counters(lines: Iterable[Line]) -> list[Counter]:
    """Return the counts in `lines`; what several ranks count is the work of all, and left out."""
    first: dict[tuple[str, int], Counter] = {}
    last: dict[tuple[str, int], Counter] = {}
    shared = set[tuple[str, int]]()
    for line in lines:
        text = line.text[:_LONGEST]
        found = _COUNT.search(text)
        if found is None or _TRAINING.search(text) or len(first) >= _MOST:
            continue
        label = _label(text, found.start(), found.start(1))
        key = (label, int(found["total"]))
        one = Counter(line, _rank(line, text), int(found["done"]), key[1])
        known = first.setdefault(key, one)
        if known.rank != one.rank:
            shared.add(key)
        last[key] = one
    return [one for key, one in last.items() if key not in shared and first[key].done < one.done < one.total]


def _label(text: str, start: int, end: int) -> str:
    return "".join("#" if letter.isdigit() else letter for letter in text[start:end])


def _rank(line: Line, text: str) -> int | None:
    """Return the rank that the line names as who counts, else that of its prefix."""
    if found := _OWN_RANK.search(text):
        return int(found[1])
    return line.printer.rank if isinstance(line.printer.rank, int) else None
