"""Find signatures in lines. Patterns run in RE2: time is linear in the line, whatever the line says."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

import re2

from evenpace.diagnose.identity import from_captures, with_far_end
from evenpace.diagnose.model import NOBODY, Identity, Line, Sighting
from evenpace.diagnose.signature import Also, Pattern, Signature

_MEMORY = 256 << 20
_LONGEST = 16 * 1024  # characters of a line that are searched
_MOST_EVERY = 64  # lines taken where a signature wants every one
_MOST_TRIED = 1000  # further lines looked at for one sighting
_SLACK = 64  # lines that several records of one line, or joined ones, may be out of order


def options() -> re2.Options:
    """Return the options of all patterns."""
    chosen = re2.Options()
    chosen.max_mem = _MEMORY
    chosen.log_errors = False
    return chosen


class PatternSet:
    """Search lines for many patterns at once, then for the captures of those that are there."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._set = re2.Set.SearchSet(options())
        for pattern in patterns:
            self._set.Add(pattern)
        self._set.Compile()
        self._each = [re2.compile(pattern, options()) for pattern in patterns]
        self._empty = not patterns

    def search(self, text: str) -> Iterator[tuple[int, Mapping[str, str]]]:
        """Yield the number of each pattern that is in `text`, with its captures."""
        if self._empty:
            return
        text = text[:_LONGEST]
        for number in sorted(self._set.Match(text) or ()):
            if found := self._each[number].search(text):
                yield number, {name: value for name, value in found.groupdict().items() if value is not None}


@dataclass(frozen=True)
class Matcher:
    """Find the given signatures in lines."""

    signatures: Mapping[str, Signature]

    @cached_property
    def _patterns(self) -> list[tuple[Signature, Pattern | Also]]:
        return [(signature, pattern) for signature in self.signatures.values() for pattern in _all(signature)]

    @cached_property
    def _search(self) -> PatternSet:
        return PatternSet([pattern.pattern for _, pattern in self._patterns])

    def sightings(self, lines: Iterable[Line]) -> list[Sighting]:
        """Return what is seen in `lines`, in their order, one sighting a line and signature."""
        lines = list(lines)
        hits = _Hits(lines)
        for at, line in enumerate(lines):
            for number, captures in self._search.search(line.text):
                signature, pattern = self._patterns[number]
                if isinstance(pattern, Pattern) and pattern.format not in (None, line.format):
                    continue
                hits.add(number, signature.id, _Hit(at, captures), isinstance(pattern, Pattern))
        numbers = {id(pattern): number for number, (_, pattern) in enumerate(self._patterns)}
        return [
            sighting
            for signature in self.signatures.values()
            for hit in hits.main.get(signature.id, ())
            if (sighting := hits.complete(signature, hit, numbers))
        ]


@dataclass(frozen=True, slots=True)
class _Hit:
    at: int
    captures: Mapping[str, str]


@dataclass
class _Hits:
    lines: Sequence[Line]
    main: dict[str, list[_Hit]] = field(default_factory=dict)
    further: dict[int, list[_Hit]] = field(default_factory=dict)

    def add(self, number: int, signature: str, hit: _Hit, is_main: bool) -> None:
        if not is_main:
            self.further.setdefault(number, []).append(hit)
        elif not any(other.at == hit.at for other in self.main.get(signature, ())[-1:]):
            self.main.setdefault(signature, []).append(hit)

    def complete(self, signature: Signature, hit: _Hit, numbers: Mapping[int, int]) -> Sighting | None:
        """Return the sighting of a hit if all the further lines that its signature asks for are there."""
        captures = dict(hit.captures)
        lines = [self.lines[hit.at]]
        for also in signature.content.also:
            partners = self._partners(also, self.further.get(numbers[id(also)], ()), hit, captures)
            if bool(partners) is also.absent and not also.optional:
                return None
            captures = {**_captured(also, partners), **captures}
            lines += [] if also.quiet else [self.lines[one.at] for one in partners]
        return Sighting(signature.id, tuple(lines), self._culprit(signature, hit, captures), (), captures)

    def _partners(
        self, also: Also, candidates: Sequence[_Hit], hit: _Hit, captures: Mapping[str, str]
    ) -> list[_Hit]:
        """Return the nearest fitting line, or all of them where the signature wants every one."""
        fitting = (
            one
            for one in islice(self._outward(also, candidates, hit), _MOST_TRIED)
            if self._placed(also, one, hit) and _agrees(also, one, captures)
        )
        return sorted(islice(fitting, _MOST_EVERY if also.every else 1), key=lambda one: one.at)

    def _outward(self, also: Also, candidates: Sequence[_Hit], hit: _Hit) -> Iterator[_Hit]:
        """Yield candidates, the nearest first and the earlier of two before the later, that can be placed."""
        low = bisect_right(candidates, hit.at, key=lambda one: one.at)
        high = low
        while True:
            down = low > 0 and also.where != "after" and self._reaches(also, candidates[low - 1], hit)
            up = (
                high < len(candidates)
                and also.where != "before"
                and self._reaches(also, candidates[high], hit)
            )
            if down and not (up and candidates[high].at - hit.at < hit.at - candidates[low - 1].at):
                low -= 1
                yield candidates[low]
            elif up:
                yield candidates[high]
                high += 1
            else:
                return

    def _reaches(self, also: Also, one: _Hit, hit: _Hit) -> bool:
        """Tell whether a line, and not all those beyond it, is near enough."""
        if also.where == "anywhere" and also.within is None:
            return True
        here, there = self.lines[hit.at], self.lines[one.at]
        return here.source == there.source and (
            also.within is None or abs(there.number - here.number) <= also.within + _SLACK
        )

    def _placed(self, also: Also, one: _Hit, hit: _Hit) -> bool:
        if also.where == "anywhere" and also.within is None:
            return True
        here, there = self.lines[hit.at], self.lines[one.at]
        if here.source != there.source:
            return False
        distance = there.number - here.number
        if also.within is not None and abs(distance) > also.within:
            return False
        before = (there.number, one.at) <= (here.number, hit.at)
        return {"before": before, "after": not before}.get(also.where, True)

    def _culprit(self, signature: Signature, hit: _Hit, captures: Mapping[str, str]) -> Identity:
        printer = self.lines[hit.at].printer
        said = from_captures(captures)
        names = signature.content.names
        if names == "nobody":
            return NOBODY
        if names == "host":
            return Identity(host=said.host if said.host is not None else printer.host)
        if names == "printer":
            return with_far_end(said.or_else(printer), captures)
        return said.or_else(Identity(host=printer.host)) if _is_local(said) else said


def _captured(also: Also, partners: Sequence[_Hit]) -> dict[str, str]:
    if not also.every:
        return dict(partners[0].captures) if partners else {}
    names = dict.fromkeys(name for one in partners for name in one.captures)
    return {
        f"{name}s": ",".join(one.captures[name] for one in partners if name in one.captures) for name in names
    }


def _is_local(said: Identity) -> bool:
    """Tell whether a line accuses something that is on the machine of whoever printed it."""
    return said.rank is None and (said.gpu is not None or said.pid is not None)


def _all(signature: Signature) -> Iterator[Pattern | Also]:
    yield from signature.content.match
    yield from signature.content.also


def _agrees(also: Also, one: _Hit, captures: Mapping[str, str]) -> bool:
    if any(one.captures.get(name) != captures.get(name) for name in also.same):
        return False
    if also.holds is None:
        return True
    left, relation, factor, right = also.holds
    both = {**captures, **one.captures}
    try:
        small, large = float(both[left]), factor * float(both[right])
    except (KeyError, ValueError):
        return False
    return small < large if relation == "<" else small > large
