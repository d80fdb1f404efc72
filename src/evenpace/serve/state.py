"""What a request asks for, read from its parameters, and the addresses that lead on from it.

All state is in the address: q, one parameter a facet (repeated or with commas: alternatives), page, lang.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import get_args
from urllib.parse import urlencode

from evenpace.errors import Problem
from evenpace.library import records
from evenpace.library.catalogue import Query
from evenpace.library.clauses import LONGEST_QUERY
from evenpace.library.facets import FACETS
from evenpace.terms import LANGUAGES, facets, say

MOST_VALUES = 40
LAST_PAGE = 1_000_000
_SCOPES = frozenset(get_args(records.Scope))


class Refused(Problem):
    """Say what of a request cannot be answered: in English as a Problem does, in `lang` by `text(lang)`."""

    def __init__(self, key: str, **details: object) -> None:
        self._key, self._details = f"serve-refused-{key}", details
        super().__init__(self.text("en"))

    def text(self, lang: str) -> str:
        """Return the sentence in `lang`."""
        return say(self._key, lang, **self._details)


@dataclass(frozen=True, slots=True)
class State:
    """Hold a query, a page (from 1) and a language; every change is a new state on page 1."""

    query: Query = field(default_factory=Query)
    page: int = 1
    lang: str = "en"

    def parameters(self) -> list[tuple[str, str]]:
        """Return the parameters of the address, in one order, without defaults except the language."""
        pairs = [("q", self.query.text)] if self.query.text else []
        pairs += [(facet, value) for facet in FACETS for value in self.query.filters.get(facet, ())]
        pairs += [("page", str(self.page))] if self.page > 1 else []
        return [*pairs, ("lang", self.lang)]

    def url(self, path: str) -> str:
        """Return the address of this state at `path`."""
        return f"{path}?{urlencode(self.parameters())}"

    def with_value(self, facet: str, value: str) -> State:
        """Choose one more value."""
        return self._with(facet, tuple(dict.fromkeys((*self.query.filters.get(facet, ()), value))))

    def without(self, facet: str, value: str) -> State:
        """Take one value back."""
        return self._with(facet, tuple(one for one in self.query.filters.get(facet, ()) if one != value))

    def without_words(self) -> State:
        """Drop the words and keep the filters."""
        return replace(self, query=Query("", self.query.filters), page=1)

    def cleared(self) -> State:
        """Keep the language only."""
        return State(lang=self.lang)

    def on_page(self, page: int) -> State:
        """Turn to a page."""
        return replace(self, page=page)

    def _with(self, facet: str, chosen: tuple[str, ...]) -> State:
        filters = {**self.query.filters, facet: chosen}
        kept = {name: values for name, values in filters.items() if values}
        return replace(self, query=Query(self.query.text, kept), page=1)


def read_state(parameters: Iterable[tuple[str, str]], *, lang: str = "en") -> State:
    """Read a state from (name, value) pairs; `lang` where none is asked for. Unknown names are ignored.

    Raises Problem for an unknown language, term or page, and for more than MOST_VALUES values.
    """
    given: dict[str, list[str]] = {}
    for name, value in parameters:
        given.setdefault(name, []).append(value)
    asked = given.get("lang", [lang])[-1]
    if asked not in LANGUAGES:
        raise Refused("language", value=_shown(asked), known=", ".join(LANGUAGES))
    filters = dict(_filters(given))
    return State(Query(_words(given.get("q", [""])[-1]), filters), _page(given.get("page", ["1"])[-1]), asked)


def preferred(accept_language: str) -> str:
    """Return the language of a browser's header: the first that we have, else English."""
    for part in accept_language[:200].split(","):
        language = part.split(";")[0].strip().lower()[:2]
        if language in LANGUAGES:
            return language
    return "en"


def _filters(given: dict[str, list[str]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for facet in FACETS:
        split = (value.strip() for text in given.get(facet, []) for value in text.split(","))
        chosen = tuple(dict.fromkeys(value for value in split if value))
        if len(chosen) > MOST_VALUES:
            raise Refused("values", facet=facet, count=len(chosen), most=MOST_VALUES)
        for value in chosen:
            if not _possible(facet, value):
                raise Refused("value", facet=facet, value=_shown(value))
        if chosen:
            yield facet, chosen


def _possible(facet: str, value: str) -> bool:
    """Tell whether some case could carry a value; the data says which organisations and years there are."""
    if facet in records.FACETS:
        return value in facets()[facet]
    if facet == "scope":
        return value in _SCOPES
    if facet == "year":
        return value.isascii() and value.isdigit() and len(value) == 4
    return value.isprintable() and len(value) <= 80


def _words(text: str) -> str:
    """Return a query in one line, without control characters: browsers and feeds take none."""
    words = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    if len(words) > LONGEST_QUERY:
        raise Refused("words", length=len(words), most=LONGEST_QUERY)
    return words


def _shown(text: str) -> str:
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text[:40])


def _page(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 8 and 1 <= int(text) <= LAST_PAGE):
        raise Refused("page", value=_shown(text))
    return int(text)
