"""The text index: which cases a query matches, and which match best.

Rows are numbers of cases in the order given. The index lives in memory and is built at start: YAML is the
only truth.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from evenpace.library import analyser
from evenpace.library.clauses import Clause, Tag, Together, Way, Word
from evenpace.library.facets import values
from evenpace.library.records import LANGUAGES, Incident

if TYPE_CHECKING:
    import tantivy

# All cases must stay in one segment, whose document numbers are the rows: memory of the writer in bytes.
_HEAP_BASE, _HEAP_A_CASE, _HEAP_LARGEST = 32_000_000, 30_000, 4_000_000_000
_TITLE, _TAG, _OTHER_NAME = 4.0, 3.0, 0.5


class TextIndex:
    """Answer clauses with rows."""

    def __init__(self, incidents: Sequence[Incident]) -> None:
        self._schema = _schema()
        self._size = max(1, len(incidents))
        self._searcher = _build(self._schema, incidents)

    def rows(self, clauses: Sequence[Clause]) -> list[int]:
        """Return all rows that match every clause, in no particular order."""
        query = self._all(self._clause(clause) for clause in clauses)
        found = self._searcher.search(query, self._size, count=False, order_by_field="row")
        return [row for row, _ in found.hits]

    def best(
        self, clauses: Sequence[Clause], filters: Sequence[Sequence[Tag]], limit: int, offset: int
    ) -> list[int]:
        """Return the rows that match best; a case must carry one tag of each of `filters`."""
        from tantivy import Occur, Query

        parts = [(Occur.Must, self._clause(clause)) for clause in clauses]
        parts += [(Occur.Should, way) for clause in clauses for way in self._in_title(clause)]
        parts += [(Occur.Must, self._any_tag(tags)) for tags in filters]
        found = self._searcher.search(Query.boolean_query(parts), limit, count=False, offset=offset)
        return [address.doc for _, address in found.hits]

    def _any_tag(self, tags: Sequence[Tag]) -> tantivy.Query:
        from tantivy import Query

        return Query.const_score_query(Query.term_set_query(self._schema, "tag", list(map(str, tags))), 0.0)

    def _clause(self, clause: Clause) -> tantivy.Query:
        from tantivy import Query

        ways = [self._way(way) for way in clause.ways]
        ways += [Query.boost_query(self._way(way), _OTHER_NAME) for way in clause.other_names]
        return Query.disjunction_max_query(ways) if len(ways) > 1 else ways[0]

    def _way(self, way: Way) -> tantivy.Query:
        from tantivy import Query

        match way:
            case Word(form):
                return Query.term_query(self._schema, "form", form)
            case Tag():
                return Query.const_score_query(Query.term_query(self._schema, "tag", str(way)), _TAG)
            case Together(clauses):
                return self._all(self._clause(clause) for clause in clauses)
            case _:
                return self._sequence("body", way.tokens)

    def _in_title(self, clause: Clause) -> Iterator[tantivy.Query]:
        from tantivy import Query

        for way in clause.ways:
            match way:
                case Word(form):
                    yield Query.boost_query(Query.term_query(self._schema, "title_form", form), _TITLE)
                case Together(clauses):
                    for inner in clauses:
                        yield from self._in_title(inner)
                case Tag():
                    continue
                case _:
                    yield Query.boost_query(self._sequence("title", way.tokens), _TITLE)

    def _sequence(self, field: str, tokens: Sequence[str]) -> tantivy.Query:
        from tantivy import Query

        if len(tokens) == 1:
            return Query.term_query(self._schema, field, tokens[0])
        return Query.phrase_query(self._schema, field, list(tokens))

    @staticmethod
    def _all(parts: Iterable[tantivy.Query]) -> tantivy.Query:
        from tantivy import Occur, Query

        wanted = [(Occur.Must, part) for part in parts]
        return wanted[0][1] if len(wanted) == 1 else Query.boolean_query(wanted)


def _schema() -> tantivy.Schema:
    from tantivy import SchemaBuilder

    builder = SchemaBuilder()
    for name, option in (
        ("body", "position"),
        ("title", "position"),
        ("form", "freq"),
        ("title_form", "freq"),
    ):
        builder.add_text_field(name, tokenizer_name="tokens", index_option=option)
    builder.add_text_field("tag", tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("row", fast=True)
    return builder.build()


def _build(schema: tantivy.Schema, incidents: Sequence[Incident]) -> tantivy.Searcher:
    from tantivy import Index, TextAnalyzerBuilder, Tokenizer

    index = Index(schema)
    index.register_tokenizer("tokens", TextAnalyzerBuilder(Tokenizer.whitespace()).build())
    heap = min(_HEAP_LARGEST, _HEAP_BASE + _HEAP_A_CASE * len(incidents))
    with index.writer(heap_size=heap, num_threads=1) as writer:
        for row, incident in enumerate(incidents):
            writer.add_document(_document(row, incident))
    index.reload()
    searcher = index.searcher()
    if searcher.num_segments > 1:
        raise RuntimeError(
            f"{searcher.num_segments} segments for {len(incidents)} cases; rows would be wrong"
        )
    return searcher


def _document(row: int, incident: Incident) -> tantivy.Document:
    from tantivy import Document

    document = Document()
    document.add_unsigned("row", row)
    for pair in values(incident):
        document.add_text("tag", str(Tag(*pair)))
    titles = "\n".join(incident.text(lang).title for lang in LANGUAGES)
    for prefix, text in (("title", titles), ("", "\n".join(texts(incident)))):
        tokens, forms = analyser.analyse(text)
        document.add_text(prefix or "body", " ".join(tokens))
        document.add_text(f"{prefix}_form".lstrip("_"), " ".join(forms))
    return document


def texts(incident: Incident) -> Iterator[str]:
    """Yield all that is searched of a case."""
    yield from (incident.id, *incident.also, incident.organisation, str(incident.year))
    for lang in LANGUAGES:
        text = incident.text(lang)
        yield from (text.title, text.symptom, text.trigger, text.cause, text.detection, text.lesson)
        yield from (*text.actions, *text.follow_up)
