"""The vocabulary: terms by facet, and the sentences of evenpace, both in English and Korean.

Terms are data: `vocabulary.json` (symptom, component, cause, factor) and `faults.toml` (what a judge can
name). Sentences are data too: `phrases/*.toml`, one table a key. All of it is read on first use and kept.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from numbers import Integral
from pathlib import Path
from typing import Any, TypeVar

_T = TypeVar("_T")
LANGUAGES = ("en", "ko")
_HERE = Path(__file__).parent


class UnknownTerm(KeyError):
    """Say that a facet or slug is not in the vocabulary, and which one is nearest."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, slots=True)
class Term:
    """Hold one term: its slug never changes, its labels may. `synonyms` are what people type for it."""

    facet: str
    slug: str
    en: str
    ko: str
    definition: str
    definition_ko: str
    synonyms: tuple[str, ...] = ()


def facets() -> dict[str, dict[str, Term]]:
    """Return all terms: facet → slug → term, in the order of the data."""
    return {facet: dict(terms) for facet, terms in _vocabulary().items()}


def term(facet: str, slug: str) -> Term:
    """Look a term up; raises UnknownTerm."""
    terms = _lookup(_vocabulary(), facet, "facet")
    return _lookup(terms, slug, f"{facet} term")


def label(facet: str, slug: str, lang: str = "en") -> str:
    """Return a term's label in `lang` (English for a language that we do not have); raises UnknownTerm."""
    found = term(facet, slug)
    return found.ko if lang == "ko" else found.en


def say(key: str, lang: str = "en", **details: object) -> str:
    """Fill the sentence `key` with `details`, in `lang` (English for a language that we do not have).

    Of `{count:step|steps}` the first word stands where the count is one, else the second.
    Never raises: a missing sentence shows its key and details, a missing value shows its name in braces.
    """
    sentence = phrases().get(key)
    if sentence is None:
        return _fallback(f"[{key}]", details)
    template = sentence.get(lang) or sentence["en"]
    try:
        return template.format_map(_Details(details))
    except (ValueError, TypeError, LookupError, AttributeError):
        return _fallback(template, details)


@cache
def phrases() -> Mapping[str, Mapping[str, str]]:
    """Return all sentences: key → language → template. The tests prove that no key is defined twice."""
    merged: dict[str, Mapping[str, str]] = {}
    for path in sorted((_HERE / "phrases").glob("*.toml")):
        merged.update(tomllib.loads(path.read_text(encoding="utf-8")))
    return merged


@cache
def _vocabulary() -> dict[str, dict[str, Term]]:
    data = json.loads((_HERE / "vocabulary.json").read_text(encoding="utf-8"))
    data["fault"] = tomllib.loads((_HERE / "faults.toml").read_text(encoding="utf-8"))
    return {
        facet: {slug: _term(facet, slug, fields) for slug, fields in terms.items()}
        for facet, terms in data.items()
    }


def _term(facet: str, slug: str, fields: Mapping[str, Any]) -> Term:
    return Term(facet, slug, **{**fields, "synonyms": tuple(fields.get("synonyms", ()))})


def _lookup(known: Mapping[str, _T], name: str, what: str) -> _T:
    if name in known:
        return known[name]
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
    raise UnknownTerm(f"no {what} {name!r}; {hint}")


def _fallback(text: str, details: Mapping[str, object]) -> str:
    listed = ", ".join(f"{name}={value}" for name, value in details.items())
    return f"{text} ({listed})" if listed else text


@dataclass(frozen=True, slots=True)
class _Missing:
    """Stand for a value that was not given: `{name}` in whatever format the sentence asks for."""

    name: str

    def __format__(self, spec: str) -> str:
        return f"{{{self.name}}}"


class _Whole(int):
    """Stand for a whole number, which also chooses between `one|many` words for what it counts."""

    def __format__(self, spec: str) -> str:
        one, bar, many = spec.partition("|")
        return (one if self == 1 else many) if bar else super().__format__(spec)


class _Details(dict[str, object]):
    def __getitem__(self, name: str) -> object:
        value = super().__getitem__(name)
        if isinstance(value, Integral) and not isinstance(value, bool):
            return _Whole(int(value))
        return value

    def __missing__(self, name: str) -> _Missing:
        return _Missing(name)
