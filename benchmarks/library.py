"""How fast is the incident library? Search with all facet counts, and opening the real one.

python benchmarks/library.py [--cases 100000] [--queries 400] [--write]

The cases mix sentences of the real ones, in both languages. The peer is SQLite FTS5 over the same tokens,
which finds and counts but has no facets. Exit code 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np
import page

from evenpace.library import analyser
from evenpace.library.catalogue import Library, Query
from evenpace.library.clauses import Clause, Together, Way, Word, clauses
from evenpace.library.clauses import Sequence as Tokens
from evenpace.library.facets import FACETS
from evenpace.library.index import texts
from evenpace.library.records import Incident

MEDIAN_BAR, P99_BAR, OPEN_BAR = 0.010, 0.050, 0.3  # seconds
HEAD = ("query", "queries", "matches (median)", "p50", "p99", "largest")
OPENING = """
import json, time
started = time.perf_counter()
from evenpace.library.catalogue import Library, Query
imported = time.perf_counter()
library = Library.open()
opened = time.perf_counter()
found = library.search(Query("Xid 79")).total
searched = time.perf_counter()
print(json.dumps([len(library.incidents), imported - started, opened - imported, searched - opened, found]))
"""


def synthetic(real: Sequence[Incident], count: int, seed: int = 1) -> Iterator[Incident]:
    """Yield cases that mix texts, terms, organisations and years of the real ones."""
    dice = random.Random(seed)  # noqa: S311
    for number in range(count):
        one, two, three = dice.choices(real, k=3)
        node = f"node{dice.randrange(4096):04d}"
        texts = {
            lang: msgspec.structs.replace(
                one.text(lang),
                symptom=f"{two.text(lang).symptom} {node}",
                trigger="",
                cause=three.text(lang).cause,
                detection="",
                actions=two.text(lang).actions[:1],
                follow_up=(),
                lesson="",
            )
            for lang in ("en", "ko")
        }
        terms = {
            facet: getattr(dice.choice((one, two, three)).terms, facet) for facet in ("cause", "component")
        }
        yield msgspec.structs.replace(
            one,
            id=f"IL-{number:06d}",
            also=(),
            organisation=two.organisation,
            year=three.year,
            terms=msgspec.structs.replace(two.terms, **terms),
            **texts,
        )


def queries(real: Sequence[Incident], count: int, seed: int = 2) -> dict[str, list[Query]]:
    """Return what users may ask: words of the texts in either language, filters, and both."""
    dice = random.Random(seed)  # noqa: S311
    words = {lang: sorted({word for one in real for word in _words(one, lang)}) for lang in ("en", "ko")}

    def filters(most: int) -> dict[str, tuple[str, ...]]:
        one = dice.choice(real)
        chosen = dice.sample(("cause", "component", "symptom"), dice.randint(1, most))
        return {facet: getattr(one.terms, facet)[:2] for facet in chosen}

    def text(lang: str, most: int) -> str:
        return " ".join(dice.sample(words[lang], dice.randint(1, most)))

    names = (
        "처리량 급락",
        "hang",
        "loss spike",
        "InfiniBand",
        "Xid 79",
        "체크포인트",
        "NCCL timeout",
        "링크 플래핑",
    )
    each = count // 5
    return {
        "filters only": [Query("", filters(3)) for _ in range(each)],
        "one or two English words": [Query(text("en", 2)) for _ in range(each)],
        "one or two Korean words": [Query(text("ko", 2)) for _ in range(each)],
        "a word and filters": [Query(text(dice.choice(("en", "ko")), 1), filters(2)) for _ in range(each)],
        "names of terms, with synonyms": [Query(dice.choice(names), filters(1)) for _ in range(each)],
    }


def _words(incident: Incident, lang: str) -> Iterator[str]:
    for word in analyser.fold(incident.text(lang).title).split():
        kept = "".join(letter for letter in word if letter.isalnum())
        if len(kept) >= 2:
            yield kept


def timed(answer: Callable[[Query], int], asked: Sequence[Query]) -> tuple[np.ndarray, np.ndarray]:
    """Return seconds and matches of each query, the second time it is asked."""
    seconds, matches = [], []
    for query in asked:
        answer(query)
        started = time.perf_counter()
        matches.append(answer(query))
        seconds.append(time.perf_counter() - started)
    return np.array(seconds), np.array(matches)


class Peer:
    """SQLite FTS5 over the same tokens: top 20 by BM25 and the number of matches."""

    def __init__(self, incidents: Sequence[Incident]) -> None:
        self.base = sqlite3.connect(":memory:")
        options = "tokenize=\"unicode61 tokenchars '_./+-#'\""
        self.base.execute(f"create virtual table cases using fts5(body, {options})")
        rows = ((" ".join(analyser.tokens("\n".join(texts(one)))),) for one in incidents)
        self.base.executemany("insert into cases values (?)", rows)

    def answer(self, query: Query) -> int:
        """Return how many cases match the query's words."""
        match = " AND ".join(f"({self._clause(clause)})" for clause in clauses(query.text))
        top = "select rowid from cases where cases match ? order by rank limit 20"
        self.base.execute(top, (match,)).fetchall()
        (count,) = self.base.execute("select count(*) from cases where cases match ?", (match,)).fetchone()
        return int(count)

    def _clause(self, clause: Clause) -> str:
        return " OR ".join(filter(None, map(self._way, clause.ways)))

    def _way(self, way: Way) -> str:
        match way:
            case Tokens(tokens):
                return f'"{" ".join(tokens)}"'
            case Word(form):
                return f'"{form}"*'
            case Together(inner):
                return f"({' AND '.join(f'({self._clause(one)})' for one in inner)})"
        return ""


def opening(runs: int = 7) -> tuple[int, list[list[float]]]:
    """Open the real library in fresh processes; return its size, and seconds to import, read, search."""
    found = [
        json.loads(subprocess.run([sys.executable, "-c", OPENING], check=True, capture_output=True).stdout)
        for _ in range(runs)
    ]
    return found[0][0], [one[1:4] for one in found]


def main() -> int:
    """Measure, print and (with --write) keep the table; 1 where a bar is missed."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--cases", type=int, default=100_000)
    options.add_argument("--queries", type=int, default=400)
    options.add_argument("--write", action="store_true", help="rewrite docs/benchmarks/library.md")
    chosen = options.parse_args()
    real = Library.open().incidents
    size, opened = opening()
    started = time.perf_counter()
    library = Library(synthetic(real, chosen.cases))
    made = time.perf_counter()
    library.text  # noqa: B018  builds the index
    built = time.perf_counter()
    print(
        f"{chosen.cases} cases made in {made - started:.0f} s, indexed in {built - made:.0f} s",
        file=sys.stderr,
    )
    asked = queries(real, chosen.queries)
    everything, rows = [], []
    for name, some in asked.items():
        seconds, matches = timed(lambda query: library.search(query).total, some)
        everything.append(seconds)
        rows.append(_row(name, seconds, matches))
    whole = np.concatenate(everything)
    rows.append(_row("all", whole, None))
    words = [
        query for name in ("one or two English words", "one or two Korean words") for query in asked[name]
    ][::4]
    ours, _ = timed(lambda query: library.search(query).total, words)
    peer = Peer(library.incidents)
    theirs, _ = timed(peer.answer, words)
    about = (chosen.cases, built - made, size, len(words))
    text = _report(about, rows, whole, np.array(opened), float(np.median(theirs) / np.median(ours)))
    print(text)
    if chosen.write:
        page.save("library", "Incident library", "make bench-library", text)
    return 0 if _met(whole, np.array(opened)) else 1


def _met(whole: np.ndarray, opened: np.ndarray) -> bool:
    return bool(
        np.percentile(whole, 50) <= MEDIAN_BAR
        and np.percentile(whole, 99) <= P99_BAR
        and np.median(opened[:, 1:].sum(axis=1)) <= OPEN_BAR
    )


def _row(name: str, seconds: np.ndarray, matches: np.ndarray | None) -> list[str]:
    middle, late = np.percentile(seconds, (50, 99))
    count = "" if matches is None else f"{int(np.median(matches))}"
    return [name, str(len(seconds)), count, _ms(middle), _ms(late), _ms(seconds.max())]


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"


def _report(
    about: tuple[int, float, int, int],
    rows: list[list[str]],
    whole: np.ndarray,
    opened: np.ndarray,
    ratio: float,
) -> str:
    cases, built, size, words = about
    imported, read, searched = (f"{seconds * 1e3:.0f} ms" for seconds in np.median(opened, axis=0))
    verdict = "All bars met" if _met(whole, opened) else "A bar was MISSED"
    return f"""{cases} synthetic cases that mix sentences, terms, organisations and years of the real ones in
English and Korean; the index is built in {built:.0f} s and lives in memory. Each query returns the first 20
cases, the number of all, the counts of the values of {len(FACETS)} facets, recommended filters and most
frequent terms; timed at the second asking.

{page.table(HEAD, rows)}

SQLite FTS5 over the same tokens, for the top 20 and the number of matches without any facet, takes
{ratio:.1f} times as long (ratio of medians, the same {words} queries of one or two words, same run).

The real library ({size} cases), medians of {len(opened)} fresh processes: imported in
{imported}, read in {read}, indexed and first searched in {searched}.

{verdict}: p50 ≤ 10 ms, p99 ≤ 50 ms; the real library opens and answers in ≤ 0.3 s."""


if __name__ == "__main__":
    sys.exit(main())
