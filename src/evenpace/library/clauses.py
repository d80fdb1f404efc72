"""A query as clauses: every clause must match, each in one of its ways.

A clause is a word of the query, or words that name a term of the vocabulary ("throughput drop", 처리량 급락):
these match the words themselves, the cases that carry the term, and, more weakly, the term's other names in
either language.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from evenpace.library import analyser
from evenpace.library.analyser import Unit
from evenpace.library.records import FACETS
from evenpace.terms import Term, facets

LONGEST_QUERY = 400
MOST_CLAUSES = 24
_LONGEST_TEXT = 4000
_LONGEST_NAME = 6  # words
_SPELLINGS = Path(__file__).parent / "spellings.toml"
_CODE = re.compile(r"(?:s?xid|error)[0-9]+|il-[0-9]{4}")


@dataclass(frozen=True, slots=True)
class Word:
    """Match a word by any of its forms."""

    form: str


@dataclass(frozen=True, slots=True)
class Sequence:
    """Match tokens that follow each other."""

    tokens: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tag:
    """Match the cases that carry a value of a facet."""

    facet: str
    value: str

    def __str__(self) -> str:
        return f"{self.facet}:{self.value}"


@dataclass(frozen=True, slots=True)
class Together:
    """Match where every clause matches."""

    clauses: tuple[Clause, ...]


Way = Word | Sequence | Tag | Together


@dataclass(frozen=True, slots=True)
class Clause:
    """Match in any of these ways; `other_names` count less."""

    ways: tuple[Way, ...]
    other_names: tuple[Way, ...] = ()


def clauses(text: str) -> list[Clause]:
    """Turn what a user typed into clauses; words beyond MOST_CLAUSES are left out."""
    words = analyser.units(text[:LONGEST_QUERY])
    found: list[Clause] = []
    at = 0
    while at < len(words) and len(found) < MOST_CLAUSES:
        span, terms = _longest_name(words[at:])
        group = words[at : at + span]
        found.append(_named(group, terms) if terms else _word(group[0]))
        at += span
    return found


def named_terms(text: str) -> list[Term]:
    """Return the terms that the words of a text name, in order."""
    words = analyser.units(text[:_LONGEST_TEXT])
    found: dict[Term, None] = {}
    at = 0
    while at < len(words):
        span, terms = _longest_name(words[at:])
        found.update(dict.fromkeys(terms))
        at += span
    return list(found)


def _longest_name(words: list[Unit]) -> tuple[int, tuple[Term, ...]]:
    for span in range(min(_LONGEST_NAME, len(words)), 0, -1):
        if terms := _names().get(_key(words[:span])):
            return span, terms
    return 1, ()


def _named(words: list[Unit], terms: tuple[Term, ...]) -> Clause:
    literal: Way = Together(tuple(_word(word) for word in words))
    ways = (literal, *(Tag(term.facet, term.slug) for term in terms))
    key = _key(words)
    others = (name for term in terms for name in _names_of(term) if _key(analyser.units(name)) != key)
    return Clause(ways, tuple(way for name in others for way in _exact(name)))


def _word(unit: Unit) -> Clause:
    return Clause(
        (*_as_written(unit), *(way for other in _same().get(unit.key, ()) for way in _exact(other)))
    )


def _as_written(unit: Unit) -> Iterator[Way]:
    if unit.hangul:
        runs = (unit.key, *unit.forms)
        yield from (Sequence(tokens) for run in runs for tokens in analyser.spellings(run))
        return
    yield Word(analyser.stem(unit.key))
    if (pieces := analyser.pieces(unit.key)) and not _CODE.fullmatch(unit.key):
        yield Together(tuple(Clause((Word(analyser.stem(piece)),)) for piece in pieces))


@cache
def _same() -> Mapping[str, tuple[str, ...]]:
    """Return a word's other spellings, by the word."""
    groups = tomllib.loads(_SPELLINGS.read_text(encoding="utf-8"))["same"]
    return {word: tuple(other for other in group if other != word) for group in groups for word in group}


def _exact(name: str) -> Iterator[Way]:
    tokens = tuple(analyser.tokens(name))
    codes = tuple(analyser.codes(analyser.fold(name)))
    if codes:
        yield Word(codes[-1])
    elif tokens:
        yield Sequence(tokens)


def _key(words: list[Unit]) -> str:
    """Return what names are compared by: stems, without the spaces inside Korean."""
    return "".join(word.key if word.hangul else _latin_key(word.key) for word in words)


def _latin_key(word: str) -> str:
    return "".join(f" {analyser.stem(part)} " for part in re.split("[-_]", word))


def _names_of(term: Term) -> tuple[str, ...]:
    return (term.en, term.ko, *term.synonyms)


@cache
def _names() -> Mapping[str, tuple[Term, ...]]:
    names: dict[str, dict[Term, None]] = {}
    for facet in FACETS:
        for term in facets()[facet].values():
            for name in _names_of(term):
                names.setdefault(_key(analyser.units(name)), {})[term] = None
    names.pop("", None)
    return {key: tuple(terms) for key, terms in names.items()}
