"""Expand Slurm's lists of nodes, `gpu[01-04,7],login1`, with a bound on how many names they may make."""

from __future__ import annotations

import re

MOST = 100_000  # names of one list
MOST_IN_ALL = 5_000_000  # names of all different lists of one reading
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_NONE = ("", "(null)", "none", "n/a", "none assigned")


class TooManyNames(ValueError):
    """Say that a list would make more names than any cluster has."""


class Hostlists:
    """Expand lists; names and lists that come again are kept once."""

    def __init__(self, most: int = MOST, in_all: int = MOST_IN_ALL) -> None:
        self._most = most
        self._left = in_all
        self._names: dict[str, str] = {}
        self._lists: dict[str, tuple[str, ...]] = {}

    def expand(self, written: str) -> tuple[str, ...]:
        """Return the names, none for a list that is no list; raises TooManyNames."""
        known = self._lists.get(written)
        if known is None:
            found = () if written.strip().casefold() in _NONE else _expanded(written, self._most)
            self._left -= len(found)
            if self._left < 0:
                raise TooManyNames("the lists of nodes make too many names")
            known = self._lists[written] = tuple(self._names.setdefault(name, name) for name in found)
        return known


def _expanded(written: str, most: int) -> list[str]:
    found: list[str] = []
    for term in _terms(written):
        found += _term(term.strip(), most - len(found))
    return found


def _terms(written: str) -> list[str]:
    """Split at the commas that are outside of brackets."""
    terms, depth, start = [], 0, 0
    for at, letter in enumerate(written):
        depth += {"[": 1, "]": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            terms.append(written[start:at])
            start = at + 1
    return [*terms, written[start:]]


def _term(term: str, most: int) -> list[str]:
    names = [""]
    while term:
        literal, bracket, rest = term.partition("[")
        inside, closed, term = rest.partition("]")
        if bracket and not closed:
            return []
        numbers = _numbers(inside, most // len(names)) if bracket else [""]
        if not numbers:
            return []
        names = [name + literal + number for name in names for number in numbers]
    if len(names) > most:
        raise TooManyNames(f"a list of nodes makes more than {most} names")
    return [name for name in names if name]


def _numbers(inside: str, most: int) -> list[str]:
    """Return the numbers of `01-04,7`, as wide as they are written."""
    numbers: list[str] = []
    for part in inside.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            return []
        low, high = match.group(1), match.group(2) or match.group(1)
        if int(high) - int(low) >= most - len(numbers):
            raise TooManyNames("a list of nodes makes too many names")
        numbers += [str(number).zfill(len(low)) for number in range(int(low), int(high) + 1)]
    return numbers
