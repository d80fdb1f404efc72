"""The gate: literal strings that say which bytes of a log deserve a look, found at the speed of the disk.

Each pattern of a signature must contain one of its literals; one RE2 automaton looks for all of them at once.
A literal that fills a log is taken out of the automaton after it was seen often enough, and only counted as
"often".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import re2

from evenpace.diagnose.matching import options
from evenpace.diagnose.signature import Signature, signatures

SHORTEST = 4
MOST_SIGHTINGS = 4000  # of one literal in one file
MOST_ALARMS = 150
# What an unknown failure is likely to say; lines with these are kept for a human to read.
ALARMS = (
    *(
        "Traceback (most recent call last)",
        "Error:",
        "ERROR",
        "error:",
        "Exception",
        "FATAL",
        "Fatal",
        "fatal",
    ),
    *("FAILED", " failed", "Failed to", "panic", "Abort", "abort", "core dumped", "segfault", "Segmentation"),
    *(
        "Killed",
        "killed",
        "timed out",
        "Timeout",
        "timeout",
        "terminate called",
        "what():",
        "WARN ",
        "assert",
    ),
    *("SIGTERM", "SIGKILL", "exit code", "exitcode", "refused", "denied", "unreachable", "lost", "corrupt"),
)
# What the judges read, whether or not a signature matches.
CONTEXT = (
    *("world size", "world_size", "WORLD_SIZE", "num_processes", "nranks", "cudaDev", "busId", "MASTER_ADDR"),
    *("global_rank=", "world_rank=", "local_rank", "Watchdog caught", "NCCL work", "watchdog", "exitcode"),
    *("Root Cause", "hostname=", "Bootstrap : Using", "missing ranks", "expected ranks", "monitoredBarrier"),
)


def literals_of(pattern: str) -> tuple[tuple[str, bool], ...]:
    """Return literals of which every match of `pattern` has one, with whether their case matters.

    Raises ValueError where there is none of at least SHORTEST characters.
    """
    found = _required(parser.parse(pattern))
    if not found or any(len(text) < SHORTEST for text, _ in found):
        raise ValueError(f"no literal of {SHORTEST} characters that every match has: {pattern}")
    return found


def _required(parsed: Any, folded: bool = False) -> tuple[tuple[str, bool], ...]:
    folded = folded or bool(getattr(getattr(parsed, "state", None), "flags", 0) & re.IGNORECASE)
    best: tuple[tuple[str, bool], ...] = ()
    run = ""
    for kind, value in _flat(parsed):
        if kind is sre.LITERAL:
            run += chr(value)
            best = _better(best, ((run, not folded),))
            continue
        run = ""
        best = _better(best, _inside(kind, value, folded))
    return best


def _flat(parsed: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the parts of a pattern with the groups opened, so that a literal may go on inside of one."""
    for kind, value in parsed:
        if kind is sre.SUBPATTERN and not value[1] and not value[2]:
            yield from _flat(value[3])
        else:
            yield kind, value


def _inside(kind: Any, value: Any, folded: bool) -> tuple[tuple[str, bool], ...]:
    if kind is sre.SUBPATTERN:
        return _required(value[3], folded or bool(value[1] & re.IGNORECASE))
    if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT) and value[0] >= 1:
        return _required(value[2], folded)
    if kind is sre.BRANCH:
        each = [_required(branch, folded) for branch in value[1]]
        return tuple(part for parts in each for part in parts) if all(each) else ()
    return ()


def _better(
    one: tuple[tuple[str, bool], ...], other: tuple[tuple[str, bool], ...]
) -> tuple[tuple[str, bool], ...]:
    worth = [min((len(text) for text, _ in parts), default=0) for parts in (one, other)]
    return other if worth[1] > worth[0] else one


def decisive(signature: Signature) -> Iterator[str]:
    """Yield the patterns of a signature that must be found wherever they stand in a log."""
    if signature.role in ("marker", "noise"):
        return
    yield from (one.pattern for one in signature.content.match)
    for also in signature.content.also:
        if also.within is None and not (also.absent or also.quiet):
            yield also.pattern


@cache
def telling() -> tuple[tuple[str, bool], ...]:
    """Return the literals of all signatures and of the judges' context.

    What only says that something is harmless, absent, or near the first line of a signature needs no literal:
    it is looked for among the lines that are kept.
    """
    found: dict[tuple[str, bool], None] = {}
    for signature in signatures().values():
        for pattern in decisive(signature):
            found.update(dict.fromkeys(literals_of(pattern)))
    found.update(dict.fromkeys((text, True) for text in CONTEXT))
    return tuple(found)


@dataclass(slots=True)
class Gate:
    """Find where in a file's bytes a literal stands; one gate a file, so that it knows what is frequent.

    `most` is how often one literal is looked for.
    """

    most: int = MOST_SIGHTINGS
    counts: dict[bytes, int] = field(default_factory=dict)
    _closed: frozenset[bytes] = frozenset()

    def hits(self, block: bytes, start: int, end: int) -> Iterator[tuple[int, bytes]]:
        """Yield position and literal of what is found in `block[start:end]`, at most one hit a line."""
        while start < end:
            found = _automaton(self._closed).search(block, start, end)
            if found is None:
                return
            literal = found.group()
            yield found.start(), literal
            self._count(literal)
            newline = block.find(b"\n", found.end(), end)
            start = end if newline < 0 else newline + 1

    def seen(self, literal: bytes) -> int:
        """Return how often a literal was found so far."""
        return self.counts.get(literal, 0)

    def _count(self, literal: bytes) -> None:
        self.counts[literal] = count = self.counts.get(literal, 0) + 1
        alarm = literal.decode("utf-8", "replace") in ALARMS
        if count >= (min(self.most, MOST_ALARMS) if alarm else self.most):
            self._closed |= {literal.lower()}


def prepare() -> None:
    """Build the automaton that looks for everything, for processes that are forked off afterwards."""
    _automaton(frozenset())


@lru_cache(maxsize=64)
def _automaton(closed: frozenset[bytes]) -> Any:
    known: dict[tuple[str, bool], None] = dict.fromkeys([*telling(), *((text, True) for text in ALARMS)])
    kept = [one for one in known if one[0].lower().encode() not in closed]
    return re2.compile("|".join(_alternatives(kept)) or r"\z\A.", options())


def _alternatives(known: Iterable[tuple[str, bool]]) -> Iterator[str]:
    for text, case_matters in known:
        yield re2.escape(text) if case_matters else f"(?i:{re2.escape(text)})"
