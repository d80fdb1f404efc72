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
_NOTHING: Mapping[str, str] = {}
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
        each = [re2.compile(pattern, options()) for pattern in patterns]
        self._capturing = [one if one.groupindex else None for one in each]
        self._empty = not patterns

    def search(self, text: str) -> Iterator[tuple[int, Mapping[str, str]]]:
        """Yield the number of each pattern that is in `text`, with its captures."""
        if self._empty:
            return
        text = text[:_LONGEST]
        for number in sorted(self._set.Match(text) or ()):
            pattern = self._capturing[number]
            if pattern is None:
                yield number, _NOTHING
            elif found := pattern.search(text):
                yield number, {name: value for name, value in found.groupdict().items() if value is not None}


@dataclass(frozen=True)
class Matcher:
    """Find the given signatures in lines."""

    signatures: Mapping[str, Signature]

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        """Return each different pattern with its number: many signatures ask for the same further line."""
        texts = dict.fromkeys(
            one.pattern for signature in self.signatures.values() for one in _all(signature)
        )
        return {text: number for number, text in enumerate(texts)}

    @cached_property
    def _search(self) -> PatternSet:
        return PatternSet(list(self._numbers))

    @cached_property
    def _owners(self) -> Mapping[int, list[tuple[str, Pattern]]]:
        """Return by number the signatures that a pattern is the first sign of."""
        owners: dict[int, list[tuple[str, Pattern]]] = {}
        for signature in self.signatures.values():
            for pattern in signature.content.match:
                owners.setdefault(self._numbers[pattern.pattern], []).append((signature.id, pattern))
        return owners

    @cached_property
    def _further(self) -> frozenset[int]:
        further = (also for signature in self.signatures.values() for also in signature.content.also)
        return frozenset(self._numbers[also.pattern] for also in further)

    def sightings(self, lines: Iterable[Line]) -> list[Sighting]:
        """Return what is seen in `lines`, in their order, one sighting a line and signature."""
        hits = _Hits(list(lines), self._numbers)
        for at, line in enumerate(hits.lines):
            for number, captures in self._search.search(line.text):
                hit = _Hit(at, captures)
                for signature, pattern in self._owners.get(number, ()):
                    if pattern.format in (None, line.format):
                        hits.add(signature, hit)
                if number in self._further:
                    hits.further.setdefault(number, []).append(hit)
        return [
            sighting
            for signature in self.signatures.values()
            for hit in hits.main.get(signature.id, ())
            if (sighting := hits.complete(signature, hit))
        ]


@dataclass(frozen=True, slots=True)
class _Hit:
    at: int
    captures: Mapping[str, str]


@dataclass
class _Hits:
    lines: Sequence[Line]
    numbers: Mapping[str, int]
    main: dict[str, list[_Hit]] = field(default_factory=dict)
    further: dict[int, list[_Hit]] = field(default_factory=dict)

    def add(self, signature: str, hit: _Hit) -> None:
        known = self.main.setdefault(signature, [])
        if not known or known[-1].at != hit.at:
            known.append(hit)

    def complete(self, signature: Signature, hit: _Hit) -> Sighting | None:
        """Return the sighting of a hit if all the further lines that its signature asks for are there."""
        captures = dict(hit.captures)
        lines = [self.lines[hit.at]]
        for also in signature.content.also:
            partners = self._partners(also, self.further.get(self.numbers[also.pattern], ()), hit, captures)
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
