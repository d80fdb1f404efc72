"""The vocabulary, the graph and the numbers of the library."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec
from rich.table import Table
from rich.text import Text

from evenpace.cli._library.choosing import known_term
from evenpace.cli._library.output import put, put_json, tidy
from evenpace.library.catalogue import Library, Query
from evenpace.library.export import inline
from evenpace.library.graph import graph
from evenpace.library.judges import judges_of
from evenpace.library.records import FACETS
from evenpace.report.output import terminal
from evenpace.report.text import pairs
from evenpace.terms import Term, facets, label, say
from evenpace.terms.spelling import line

_TOP = 10


def terms(lib: Library, facet: str | None, slug: str | None, form: str, lang: str) -> None:
    """Print the vocabulary, one facet, or one term; raises Problem for an unknown term."""
    known = facets()
    if facet and slug:
        _one(lib, known_term(facet, slug), form, lang)
        return
    chosen = [one for name in ([facet] if facet else FACETS) for one in known[name].values()]
    if form == "json":
        put_json({"terms": [msgspec.to_builtins(one) | {"cases": _count(lib, one)} for one in chosen]})
        return
    heads = (say("library-term", lang), "", say("library-cases", lang))
    rows = [(f"{one.facet} {one.slug}", label(one.facet, one.slug, lang), _count(lib, one)) for one in chosen]
    _table(heads, rows, form)


def ties(lib: Library, asked: Query, limit: int, form: str, lang: str) -> None:
    """Print the strongest ties of the graph of an answer."""
    made = graph(lib, asked, most=limit)
    if form == "json":
        page = msgspec.to_builtins(made)
        put_json(page | {"cases": [one.id for one in made.cases]})
        return
    heads = [say(f"library-{name}", lang) for name in ("term", "goes-with", "cases", "lift")]
    rows = [(_of_key(e.one, lang), _of_key(e.other, lang), e.count, f"{e.lift:.1f}") for e in made.edges]
    _table(heads, rows, form)
    put(f"\n{say('library-total', lang, count=made.total, all=len(lib.incidents))}\n")


def stats(lib: Library, form: str, lang: str) -> None:
    """Print how many cases there are, by what."""
    counts = {
        name: Counter(str(getattr(one, name)) for one in lib.incidents)
        for name in ("verified", "kind", "scope", "year", "organisation")
    }
    for facet in FACETS:
        counts[facet] = Counter({slug: bits.bit_count() for slug, bits in lib.facets.bits[facet].items()})
    if form == "json":
        counted = {name: dict(of.most_common()) for name, of in counts.items()}
        put_json({"cases": len(lib.incidents), "counts": counted})
        return
    rows = [(say("library-cases", lang), str(len(lib.incidents)))]
    for name, of in counts.items():
        top = sorted(of.items(), reverse=True) if name == "year" else of.most_common(_TOP)
        listed = [f"{_called(name, value, lang)}: {count}" for value, count in top]
        rows.append((say(f"library-{name}", lang), ("\n" if name == "verified" else "; ").join(listed)))
    _facts(rows, form)


def _called(name: str, value: str, lang: str) -> str:
    if name in FACETS:
        return label(name, value, lang)
    return say(f"library-{name}-{value}", lang) if name in ("kind", "scope", "verified") else line(value)


def _one(lib: Library, one: Term, form: str, lang: str) -> None:
    found = lib.search(Query("", {one.facet: (one.slug,)}), limit=1000).incidents
    named = [f"evenpace {judge.by}: {judge.label(lang)}" for judge in judges_of(one.facet, one.slug)]
    if form == "json":
        put_json({"term": msgspec.to_builtins(one), "cases": [case.id for case in found]})
        return
    definition = one.definition_ko if lang == "ko" else one.definition
    rows = [
        (f"{one.facet} {one.slug}", label(one.facet, one.slug, lang)),
        ("", definition),
        (say("library-synonyms", lang), ", ".join(one.synonyms)),
        (say("library-judges", lang), "\n".join(named) or say("library-no-judge", lang)),
        (
            say("library-cases", lang),
            "\n".join(f"{case.id}  {line(case.text(lang).title)}" for case in found),
        ),
    ]
    _facts(rows, form)


def _count(lib: Library, one: Term) -> int:
    return lib.facets.bits[one.facet].get(one.slug, 0).bit_count()


def _of_key(key: str, lang: str) -> str:
    facet, _, slug = key.partition(":")
    return label(facet, slug, lang)


def _facts(rows: Sequence[tuple[str, str]], form: str) -> None:
    """Print names and what belongs to them."""
    if form == "markdown":
        for name, value in rows:
            put(f"- {inline(name)}: {inline(value.replace(chr(10), '; '))}\n")
    else:
        terminal().print(pairs(list(rows)))


def _table(heads: Sequence[str], rows: Sequence[Sequence[str | int]], form: str) -> None:
    """Print a table; numbers stand to the right."""
    numeric = [bool(rows) and isinstance(cell, int) for cell in (rows[0] if rows else heads)]
    if form == "markdown":
        lines = [heads, ["---:" if right else "---" for right in numeric]]
        lines += [[inline(str(cell)) for cell in row] for row in rows]
        put("".join(f"| {' | '.join(map(str, cells))} |\n" for cells in lines))
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for head, right in zip(heads, numeric, strict=True):
        table.add_column(head, justify="right" if right else "left", overflow="fold", no_wrap=right)
    for row in rows:
        table.add_row(*(Text(tidy(str(cell))) for cell in row))
    terminal().print(table)
