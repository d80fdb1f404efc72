"""Judge phases that members of a group begin and end aloud: who did not end what all others ended."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import re2

from evenpace.diagnose.formats import c10d
from evenpace.diagnose.formats.c10d import Stuck, spelled
from evenpace.diagnose.judges.collectives import after_death, evidence, ranks
from evenpace.diagnose.matching import options
from evenpace.diagnose.model import NOBODY, Case, Line, Sighting

_LONGEST = 4096
_FEWEST = 3  # members that ended it
_SAYS = re2.compile(
    r"(?i)\b(?:load|init|build|compil|captur|warm|tokeniz|prepar|read|creat)\w*\b[^\n]{0,60}?"
    r"\b(?:begin|start|started|begins|end|ends|ended|done|finished|complete|completed)\b",
    options(),
)
_PHASE = re.compile(
    r"(?P<phase>\b(?:[Ll]oad|[Ii]nit|[Bb]uild|[Cc]ompil|[Cc]aptur|[Ww]arm|[Tt]okeniz|[Pp]repar|[Rr]ead|[Cc]reat)"
    r"\w{0,20}(?: [\w-]{1,24}){0,4}?) ?(?:is |has |was )?"
    r"(?P<which>begins?|start(?:s|ed)?|ends?|ended|done|finished|completed?)\b"
)
_MEMBER = re.compile(r"\b(?:TP|[Rr]ank ?)(\d{1,6})\b")
_SPLIT = re.compile(r"\b(?:PP|DP)[1-9]\d{0,5}\b|\b(?:pp|dp)_size=(?:[2-9]|[1-9]\d)")
_SPLIT_LINES = re2.compile(r"\b(?:PP|DP)[1-9]|\b(?:pp|dp)_size=[1-9]", options())
_GAVE_UP = re2.compile(
    r"other (?:ranks|workers|processes) (?:that )?(?:did ?n[o']t|have not|are not)|"
    r"waiting for (?:other|all) (?:ranks|workers|processes).{0,40}(?i:time)",
    options(),
)


@dataclass(slots=True)
class _Phase:
    begun: dict[int, Line] = field(default_factory=dict)
    ended: dict[int, Line] = field(default_factory=dict)


def judge(case: Case) -> Iterable[Sighting]:
    """Return the members that began a phase and did not end it, while all others did and gave up waiting.

    Whoever complains of others had ended it, also where the line that says so is lost.
    """
    gave_up = [
        *case.lines_with(_GAVE_UP),
        *(one.line for one in case.once(c10d.records_in) if isinstance(one, Stuck)),
    ]
    if not gave_up:
        return
    for name, phase in _phases(case.lines_with(_SAYS)):
        yield from list(_late(case, name, phase, gave_up))[:1]


def _phases(lines: Iterable[Line]) -> Iterator[tuple[str, _Phase]]:
    phases: dict[str, _Phase] = {}
    for line in lines:
        found = _PHASE.search(line.text[:_LONGEST])
        member = _member(line, found.start()) if found else None
        if found is None or member is None:
            continue
        phase = phases.setdefault(found["phase"].lower(), _Phase())
        which = phase.begun if found["which"].startswith(("begin", "start")) else phase.ended
        which.setdefault(member, line)
    yield from phases.items()


def _member(line: Line, end: int) -> int | None:
    """Return the member that a line's own head names, before the phase is told."""
    rank = c10d.global_rank(line)
    found = _MEMBER.search(line.text[:end])
    return rank if rank is not None else int(found[1]) if found else None


def _late(case: Case, name: str, phase: _Phase, gave_up: Sequence[Line]) -> Iterator[Sighting]:
    everybody = {*phase.begun, *phase.ended}
    waited = {int(member) for line in gave_up for member in _MEMBER.findall(line.text[:_LONGEST])}
    late = sorted(everybody - set(phase.ended) - waited)
    if not late or len(phase.ended) < _FEWEST or 2 * len(late) >= len(everybody):
        return
    split = any(_SPLIT.search(line.text[:_LONGEST]) for line in case.lines_with(_SPLIT_LINES))
    shown = [phase.begun[late[0]], *list(phase.ended.values())[-2:], *gave_up[:3]]
    last = max(phase.ended.values(), key=lambda line: (line.source, line.number))
    lines = evidence(gave_up[0], [last, *shown])
    captures = {"ranks": spelled(late), "phase": name}
    who = NOBODY if split else ranks(late)
    yield Sighting("phase-not-ended", lines, who, (), captures, after_death(case, late))
