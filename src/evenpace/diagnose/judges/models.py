"""Judge who built another model, where DDP only says that two ranks differ: by what each counted itself."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

import re2

from evenpace.diagnose.formats import c10d
from evenpace.diagnose.judges.collectives import evidence, majority, ranks
from evenpace.diagnose.matching import options
from evenpace.diagnose.model import Case, Line, Sighting

_LONGEST = 4096
_DIFFERS = re2.compile(r"DDP expects same model across all ranks, but Rank \d", options())
_PAIR = re.compile(
    r"but Rank (\d{1,6}) has (\d{1,9}) params, while rank (\d{1,6}) has inconsistent (\d{1,9}) params"
)
_COUNTS = re2.compile(r"(?i)\bparam(?:eter)?s?\b[^\n]{0,24}?\d", options())
_COUNT = re.compile(
    r"(?i)(?P<what>\b(?:all|total|trainable|number of|num|non-trainable) ?(?:model )?"
    r"param(?:eter)?s?(?: count)?)"
    r"\s{0,4}[:=]{1,2}\s{0,4}(?P<count>\d[\d,_]{0,20}(?:\.\d{1,6})? ?[KMBG]?)\b"
)


def judge(case: Case) -> Iterable[Sighting]:
    """Return the one rank whose own count of parameters differs from all others', if DDP names it."""
    said = [
        (line, found) for line in case.lines_with(_DIFFERS) if (found := _PAIR.search(line.text[:_LONGEST]))
    ]
    if not said:
        return
    apart = {rank: line for counts in _counts(case) for rank, line in _apart(counts).items()}
    named = {int(one) for _, found in said for one in (found[1], found[3])}
    if len(apart) != 1 or not named & set(apart):
        return
    ((rank, own),) = apart.items()
    line, found = next((line, found) for line, found in said if str(rank) in (found[1], found[3]))
    theirs, ours = (found[2], found[4]) if found[1] == str(rank) else (found[4], found[2])
    captures = {"theirs": theirs, "ours": ours}
    yield Sighting("ddp-model-counted", evidence(line, [own]), ranks([rank]), (), captures)


def _counts(case: Case) -> Iterable[dict[int, tuple[str, Line]]]:
    """Return, for each wording of a count, what each rank said first."""
    told: dict[str, dict[int, tuple[str, Line]]] = defaultdict(dict)
    for line in case.lines_with(_COUNTS):
        rank = c10d.global_rank(line)
        for found in _COUNT.finditer(line.text[:_LONGEST]) if rank is not None else ():
            told[found["what"].lower()].setdefault(rank or 0, (found["count"], line))
    return told.values()


def _apart(counts: dict[int, tuple[str, Line]]) -> dict[int, Line]:
    """Return the ranks whose count differs from that of a clear majority."""
    found = majority({rank: count for rank, (count, _) in counts.items()})
    return {rank: counts[rank][1] for rank in found[1]} if found else {}
