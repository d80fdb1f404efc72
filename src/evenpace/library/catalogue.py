"""The library opened: cases newest first, found by words, by facets and by id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path

from evenpace.errors import Problem
from evenpace.library import records
from evenpace.library.analyser import fold
from evenpace.library.clauses import LONGEST_QUERY, Tag, clauses, named_terms
from evenpace.library.facets import FACETS, FacetIndex, Filters, bitset, members
from evenpace.library.index import TextIndex
from evenpace.library.records import Incident
from evenpace.terms import facets

PAGE = 20
Counts = dict[str, dict[str, int]]
_RECOMMENDED = 6
_FREQUENT = 3  # a facet
_TELLING = 1.5


@dataclass(frozen=True, slots=True)
class Query:
    """Ask for cases: words, and chosen values by facet. Raises Problem for what no case could answer."""

    text: str = ""
    filters: Filters = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.text) > LONGEST_QUERY:
            raise Problem(f"the query has {len(self.text)} characters; at most {LONGEST_QUERY} are searched")
        for facet in self.filters:
            if facet not in FACETS:
                raise Problem(f"there is no facet {facet[:40]!r}; there are: {', '.join(FACETS)}")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Say that `count` of the matching cases carry a value, `lift` times as often as all cases do."""

    facet: str
    value: str
    count: int
    lift: float


@dataclass(frozen=True, slots=True)
class Result:
    """Hold one page of the answer and what belongs to all of it.

    `counts`: facet → value → cases, without the facet's own filter. `recommended`: filters that the query's
    words name, then those that set the answer apart. `frequent`: the terms that most matching cases carry.
    """

    incidents: tuple[Incident, ...]
    total: int
    counts: dict[str, dict[str, int]]
    recommended: tuple[Suggestion, ...]
    frequent: tuple[Suggestion, ...]


class Library:
    """Hold all cases; a case's row is its place in `incidents`, which are newest first."""

    def __init__(self, incidents: Iterable[Incident]) -> None:
        self.incidents = tuple(sorted(incidents, key=lambda one: (-one.year, one.id)))
        self.facets = FacetIndex(self.incidents)
        self._rows = {id_: row for row, one in enumerate(self.incidents) for id_ in (one.id, *one.also)}

    @classmethod
    def open(cls, folder: Path | None = None) -> Library:
        """Read all cases of a folder (the library that came with evenpace by default); raises Problem."""
        return cls(_sound(files(folder or home())))

    @cached_property
    def text(self) -> TextIndex:
        """Return the text index, built on first use."""
        return TextIndex(self.incidents)

    def get(self, id_: str) -> Incident:
        """Return a case by its id, or the one that it was merged into; raises Problem."""
        row = self._rows.get(id_.strip().upper())
        if row is None:
            raise Problem(f"there is no case {id_[:40]!r}; `evenpace library search` lists them")
        return self.incidents[row]

    def row(self, incident: Incident) -> int:
        """Return a case's row."""
        return self._rows[incident.id]

    def matching(self, query: Query) -> int:
        """Return the rows that match the query's words and filters, as a bitset."""
        return self._with_words(query) & self.facets.allowed(query.filters)

    def search(self, query: Query, *, offset: int = 0, limit: int = PAGE) -> Result:
        """Answer a query: best first with words, newest first without."""
        with_words = self._with_words(query)
        matching = with_words & self.facets.allowed(query.filters)
        carried, total = self.facets.counts(matching, {}), matching.bit_count()
        return Result(
            incidents=tuple(self.incidents[row] for row in self._page(query, matching, offset, limit)),
            total=total,
            counts=self.facets.counts(with_words, query.filters),
            recommended=tuple(self._recommended(query, carried, total)),
            frequent=tuple(self._frequent(query, carried, total)),
        )

    def _with_words(self, query: Query) -> int:
        if not query.text.strip():
            return self.facets.everything
        wanted = clauses(query.text)
        return bitset(self.text.rows(wanted), len(self.incidents)) if wanted else 0

    def _page(self, query: Query, matching: int, offset: int, limit: int) -> list[int]:
        if offset >= matching.bit_count() or limit < 1:
            return []
        if wanted := clauses(query.text):
            chosen = [
                [Tag(facet, value) for value in values] for facet, values in query.filters.items() if values
            ]
            return self.text.best(wanted, chosen, limit, offset)
        return list(islice(members(matching), offset, offset + limit))

    def _recommended(self, query: Query, carried: Counts, total: int) -> list[Suggestion]:
        if not query.text.strip():
            return []
        by_value = {(one.facet, one.value): one for one in self._suggestions(carried, total)}
        named = [(term.facet, term.slug) for term in named_terms(query.text)]
        folded = f" {fold(query.text)} "
        named += [
            (facet, value)
            for facet in ("organisation", "year")
            for value in carried[facet]
            if f" {fold(value)} " in folded
        ]
        telling = (
            pair
            for pair, one in by_value.items()
            if one.facet in records.FACETS and one.count > 1 and one.lift >= _TELLING
        )
        ranked = dict.fromkeys((*named, *sorted(telling, key=lambda pair: -by_value[pair].lift)))
        narrowing = (by_value[pair] for pair in ranked if pair in by_value)
        kept = (one for one in narrowing if one.count < total and not query.filters.get(one.facet))
        return list(islice(kept, _RECOMMENDED))

    def _frequent(self, query: Query, carried: Counts, total: int) -> Iterator[Suggestion]:
        for facet in records.FACETS:
            of_facet = {facet: carried[facet]}
            found = (one for one in self._suggestions(of_facet, total) if not _chosen(query, one))
            yield from sorted(found, key=lambda one: (-one.count, one.value))[:_FREQUENT]

    def _suggestions(self, carried: Counts, total: int) -> Iterator[Suggestion]:
        for facet, of in carried.items():
            for value, count in of.items():
                everywhere = self.facets.bits[facet][value].bit_count() / len(self.incidents)
                yield Suggestion(facet, value, count, round(count / total / everywhere, 2))


def _sound(paths: list[Path]) -> Iterator[Incident]:
    """Read cases whose terms we know and whose ids are their own; raises Problem."""
    owners: dict[str, str] = {}
    known = facets()
    for path in paths:
        one = records.read(path)
        for facet in records.FACETS:
            if unknown := [slug for slug in getattr(one.terms, facet) if slug not in known[facet]]:
                raise Problem(
                    f"{path}: unknown {facet} {unknown[0]!r}; `evenpace library validate` says where"
                )
        for id_ in (one.id, *one.also):
            if owners.setdefault(id_, path.name) != path.name:
                raise Problem(
                    f"{path}: {id_} is already used by {owners[id_]}; `evenpace library validate` says where"
                )
        yield one


def _chosen(query: Query, one: Suggestion) -> bool:
    return one.value in query.filters.get(one.facet, ())


def files(folder: Path) -> list[Path]:
    """Return the case files of a folder in order; raises Problem where there are none."""
    try:
        found = sorted(
            path for path in folder.iterdir() if path.suffix == ".yaml" and not path.name.startswith(".")
        )
    except OSError as error:
        raise Problem(f"cannot read the library's folder {folder}: {error.strerror}") from error
    if not found:
        raise Problem(f"there is no case (IL-NNNN.yaml) in {folder}")
    return found


def home() -> Path:
    """Return the folder of the library that came with evenpace: in the package, or beside the source tree."""
    package = Path(__file__).parent.parent
    for folder in (package / "incidents", package.parent.parent / "incidents"):
        if folder.is_dir():
            return folder
    raise Problem(
        "the incident library is not installed; install evenpace again, or name a folder with --folder"
    )
