"""What a request asks for, read from its parameters, and the addresses that lead on from it.

All state is in the address: q, one parameter a facet (repeated or with commas: alternatives), page, lang.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

from evenpace.errors import Problem
from evenpace.library import records
from evenpace.library.catalogue import Query
from evenpace.library.facets import FACETS
from evenpace.terms import LANGUAGES, UnknownTerm, term

MOST_VALUES = 40
LAST_PAGE = 1_000_000


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

    def in_language(self, lang: str) -> State:
        """Say the same in another language."""
        return replace(self, lang=lang)

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
        raise Problem(f"there is no language {asked[:10]!r}; choose one of {', '.join(LANGUAGES)}")
    filters = dict(_filters(given))
    return State(Query(given.get("q", [""])[-1].strip(), filters), _page(given.get("page", ["1"])[-1]), asked)


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
            raise Problem(f"{len(chosen)} values of {facet}; at most {MOST_VALUES} are taken")
        if facet in records.FACETS:
            _known(facet, chosen)
        if chosen:
            yield facet, chosen


def _known(facet: str, chosen: Iterable[str]) -> None:
    for value in chosen:
        try:
            term(facet, value[:64])
        except UnknownTerm as error:
            raise Problem(str(error)) from error


def _page(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 8 and 1 <= int(text) <= LAST_PAGE):
        raise Problem(f"{text[:20]!r} is no page; pages are numbers from 1")
    return int(text)
