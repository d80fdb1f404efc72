"""Judge the reports of a straggler detector inside the job: it measured who computes slower."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import re2

from evenpace.diagnose.formats.c10d import spelled
from evenpace.diagnose.identity import one_or_all
from evenpace.diagnose.judges.collectives import evidence
from evenpace.diagnose.matching import options
from evenpace.diagnose.model import NOBODY, Case, Identity, Line, Sighting

_LONGEST = 16 * 1024
_MOST = 4  # ranks that are slow by themselves; more of them have a common reason
_SAYS = re2.compile(r"STRAGGLER DETECTION WARNING|StragglerId\(|Rank=\d+ Node=\S+ Score=", options())
_ID = re.compile(r"StragglerId\(rank=(\d{1,6}), node='([^']{0,255})'\)")
_SCORE = re.compile(r"Rank=(\d{1,6}) Node=(\S{1,255}) Score=(\d{1,3}\.\d{1,6})")


@dataclass(frozen=True, slots=True)
class _Score:
    line: Line
    rank: int
    host: str
    score: float


def judge(case: Case) -> Iterable[Sighting]:
    """Return the ranks that most warnings of the detector name, with their scores."""
    said = case.lines_with(_SAYS)
    warnings = [(line, _ID.findall(line.text[:_LONGEST])) for line in said if "StragglerId(" in line.text]
    warnings = [(line, found) for line, found in warnings if found]
    if not warnings:
        return
    often = Counter(one for _, found in warnings for one in set(found))
    named = sorted((int(rank), host) for (rank, host), count in often.items() if 2 * count >= len(warnings))
    scores = list(_scores(said))
    if not named:
        return
    yield _sighting(named, [line for line, _ in warnings], scores)


def _scores(lines: Iterable[Line]) -> Iterator[_Score]:
    for line in lines:
        for found in _SCORE.finditer(line.text[:_LONGEST]):
            yield _Score(line, int(found[1]), found[2], float(found[3]))


def _sighting(
    named: Sequence[tuple[int, str]], warnings: Sequence[Line], scores: Sequence[_Score]
) -> Sighting:
    slow = {rank for rank, _ in named}
    low = sorted((one for one in scores if one.rank in slow), key=lambda one: one.score)
    hosts = tuple(dict.fromkeys(host for _, host in named if host))
    host = hosts[0] if len(hosts) == 1 else hosts or None
    who = Identity(rank=one_or_all(tuple(sorted(slow))), host=host) if len(slow) <= _MOST else NOBODY
    captures = {
        "ranks": spelled(slow),
        "score": f"{low[0].score:g}" if low else "?",
        "count": str(len(warnings)),
    }
    lines = evidence(warnings[0], [*(one.line for one in low[:3]), *warnings[-1:]])
    return Sighting("straggler-report", lines, who, (), captures, count=len(warnings))
