"""Judge whether ranks had different numbers of batches: one ends its epoch, the others wait for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import re2

from evenpace.diagnose.formats.tracebacks import split_prefix
from evenpace.diagnose.identity import one_or_all
from evenpace.diagnose.matching import options
from evenpace.diagnose.model import NOBODY, Case, Identity, Line, Sighting

_LONGEST = 16 * 1024

_ENDLESS = re2.compile(
    r"\b(?:BATCH|batch|Batch|step|Step|iter|Iter)\w*:? \[?\d+/(?:inf|\?|None|-1)\b|\b\d+/inf\b|\| ?\d+/\? \[|"
    r"IterableDataset|StreamingDataset|CombinedStreaming|WebDataset|webdataset",
    options(),
)
_STUCK = re2.compile(
    r"Watchdog caught collective operation timeout|Timed out waiting \d+ms for recv|"
    r"monitoredBarrier|watchdog got stuck|collective operation timeout|Watchdog caught",
    options(),
)
_COUNT = re2.compile(
    r"(?i)\brank[ =:#\[]{0,3}(?P<rank>\d{1,6})\]?\b.{0,80}?\b(?:num[_ ]batches|number of batches|"
    r"batches[_ ]per[_ ]epoch|steps[_ ]per[_ ]epoch|len\(\w*loader\)|dataloader (?:length|size|len))\b"
    r"[ =:is]{0,6}(?P<count>\d{1,12})\b|"
    r"(?i)\brank[ =:#\[]{0,3}(?P<of>\d{1,6})\]?\b.{0,80}?\b(?P<number>\d{1,12}) (?:mini-?)?batches\b",
    options(),
)
_COUNTED = re2.compile(
    r"(?i)batches|per[_ ]epoch|loader\w*\)|loader (?:length|size|len)", options()
)  # each of the counts has one of these
_EXHAUSTED = re2.compile(
    r"StopIteration\b|(?i:data ?(?:set|loader|iterator)? (?:is |was )?exhausted)", options()
)
_SETTING_UP = re2.compile(
    r"Running tokenizer|Tokenizing|Map \(num_proc|Generating \w+ split|building .*index", options()
)


def judge(case: Case) -> Iterable[Sighting]:
    """Return that ranks had unequal numbers of batches: counted, or likely as the data have no length."""
    stuck = case.lines_with(_STUCK)
    if not stuck:
        return
    counts = list(_counts(case.lines_with(_COUNTED)))
    per_rank = {rank: count for _, rank, count in reversed(counts)}
    if len(per_rank) > 1 and len(set(per_rank.values())) > 1:
        few, many = min(per_rank.values()), max(per_rank.values())
        shown = [line for line, _, count in counts if count in (few, many)][:3]
        captures = {"few": str(few), "many": str(many)}
        short = one_or_all(tuple(sorted(rank for rank, count in per_rank.items() if count == few)))
        one = isinstance(short, int) and len(per_rank) > 2 and list(per_rank.values()).count(many) > 1
        who = Identity(rank=short) if one else NOBODY
        yield Sighting(
            "uneven-batches",
            (*shown, *_last_of(who, case.lines), *stuck[:2]),
            who,
            (),
            captures,
            certainty=0.8,
        )
        return
    if case.lines_with(_SETTING_UP):
        return
    ended = _before(case.lines_with(_EXHAUSTED), stuck[0])
    endless = _before(case.lines_with(_ENDLESS), stuck[0])
    if ended and (endless or _by_one_rank(ended)):
        yield Sighting("uneven-batches", (ended[-1], *endless[-1:], *stuck[:2]), NOBODY, ())
    elif endless:
        yield Sighting("uneven-batches-likely", (endless[-1], *stuck[:2]), NOBODY, ())


def _last_of(who: Identity, lines: Sequence[Line]) -> list[Line]:
    """Return the last line that the rank printed which ran out of data."""
    if who.rank is None:
        return []
    return [one for one in lines if split_prefix(one.text)[0].or_else(one.printer).rank == who.rank][-1:]


def _counts(lines: Iterable[Line]) -> Iterator[tuple[Line, int, int]]:
    for line in lines:
        if found := _COUNT.search(line.text[:_LONGEST]):
            yield line, int(found["rank"] or found["of"]), int(found["count"] or found["number"])


def _before(lines: Sequence[Line], stuck: Line) -> list[Line]:
    return [line for line in lines if line.source != stuck.source or line.number < stuck.number]


def _by_one_rank(ended: Sequence[Line]) -> bool:
    ranks = {split_prefix(line.text)[0].rank for line in ended}
    return len(ranks) == 1 and None not in ranks
