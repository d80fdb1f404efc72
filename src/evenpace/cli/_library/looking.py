"""Search, show and export cases."""

from __future__ import annotations

import json
import shlex
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from evenpace.errors import Problem
from evenpace.findings import Finding
from evenpace.library import export as forms
from evenpace.library.catalogue import Library, Query, Result
from evenpace.library.facets import FACETS, members
from evenpace.library.judges import judges
from evenpace.library.records import FACETS as OF_TERMS
from evenpace.library.records import Incident, Source
from evenpace.library.similar import Neighbour, for_finding, similar
from evenpace.report.show import terminal
from evenpace.report.text import pairs
from evenpace.report.words import line
from evenpace.terms import facets, say

_LARGEST_FINDING = 8 * 1024 * 1024
_FIELDS = ("symptom", "trigger", "cause", "detection", "actions", "follow_up", "lesson")
_TOP = 6


def library(folder: Path | None) -> Library:
    """Open the library; raises Problem."""
    return Library.open(folder)


def query(words: Sequence[str], options: Mapping[str, Any]) -> Query:
    """Return the query of a command line; raises Problem for an unknown term, with the nearest."""
    filters: dict[str, tuple[str, ...]] = {}
    for facet in FACETS:
        values = tuple(one.strip() for given in options[facet] for one in given.split(",") if one.strip())
        if facet in OF_TERMS:
            _known(facet, values)
        if values:
            filters[facet] = values
    return Query(" ".join(words), filters)


def search(lib: Library, asked: Query, cut: tuple[int, int], form: str, lang: str) -> None:
    """Print one page of an answer; `cut` is the page and the cases on it."""
    page, limit = cut
    found = lib.search(asked, offset=(page - 1) * limit, limit=limit)
    if form == "json":
        _print_json({"total": found.total, "page": page, "limit": limit} | msgspec.to_builtins(found))
    elif form == "markdown":
        for one in found.incidents:
            print(line(f"- **{one.id}** ({one.organisation}, {one.year}) {one.text(lang).title}"))
    else:
        terminal().print(Group(*_answer(lib, found, lang)))


def findings(lib: Library, file: Path, form: str, lang: str) -> None:
    """Print the cases closest to each finding of a file, with the reason."""
    near = [(finding, for_finding(lib, finding)) for finding in _findings(file)]
    if form == "json":
        links = [
            {
                "fault": finding.fault,
                "incidents": [{"id": n.incident.id, "score": n.score, "why": n.why(lang)} for n in close],
            }
            for finding, close in near
        ]
        _print_json({"findings": links})
        return
    console = terminal()
    for finding, close in near:
        console.print(Text(line(finding.sentence(lang)), style="bold"))
        console.print(
            Padding(_neighbours(close, lang) or Text(say("library-no-similar", lang)), (0, 0, 1, 2))
        )


def show(lib: Library, id_: str, form: str, lang: str) -> None:
    """Print one case whole."""
    given = id_.strip()
    one = lib.get(
        f"IL-{int(given):04d}" if given.isascii() and given.isdigit() and len(given) <= 4 else given
    )
    near = similar(lib, one)
    if form == "json":
        _print_json({"incident": msgspec.to_builtins(one), "similar": [n.incident.id for n in near]})
    elif form == "markdown":
        print(forms.markdown(one, lang, near), end="")
    else:
        terminal().print(_whole(one, near, lang), crop=False)


def export(lib: Library, asked: Query, form: str, output: Path | None, lang: str) -> None:
    """Write cases for other tools; raises Problem where the file is there already."""
    chosen = [lib.incidents[row] for row in members(lib.matching(asked))]
    if form == "jsonl":
        lines: Iterator[str] = forms.jsonl(chosen)
    elif form == "csv":
        lines = forms.csv(chosen, lang)
    else:
        lines = ("\n" * bool(n) + forms.markdown(one, lang) for n, one in enumerate(chosen))
    if output is None:
        for text in lines:
            sys.stdout.write(text)
        return
    try:
        with output.open("x", encoding="utf-8", newline="") as file:
            file.writelines(lines)
    except FileExistsError as error:
        raise Problem(f"{output} is there already; choose another --output") from error
    except OSError as error:
        raise Problem(f"cannot write {output}: {error.strerror}") from error


def _known(facet: str, values: Sequence[str]) -> None:
    vocabulary = facets()[facet]
    for value in values:
        if value not in vocabulary:
            near = get_close_matches(value, vocabulary, 1)
            hint = f"did you mean {near[0]}?" if near else f"`evenpace library terms {facet}` lists them"
            raise Problem(f"there is no {facet} {value[:40]!r}; {hint}")


def _answer(lib: Library, found: Result, lang: str) -> Iterator[RenderableType]:
    for one in found.incidents:
        text = one.text(lang)
        yield Text.assemble((one.id, "bold"), f"  {one.year}  {line(one.organisation)}")
        yield Padding(Text(line(text.title), style="bold"), (0, 0, 0, 2))
        yield Padding(Text(line(text.symptom)), (0, 0, 1, 2))
    yield Text(say("library-total", lang, count=found.total, all=len(lib.incidents)), style="dim")
    if not found.total:
        yield Text(say("library-loosen", lang))
    for facet in OF_TERMS:
        top = sorted(found.counts[facet].items(), key=lambda one: -one[1])[:_TOP]
        if top and found.total:
            listed = ", ".join(f"{slug} {count}" for slug, count in top)
            yield Text(f"{say(f'library-{facet}', lang)}: {listed}", style="dim")
    if found.recommended:
        options = "  ".join(
            f"--{one.facet} {shlex.quote(one.value)} ({one.count})" for one in found.recommended
        )
        yield Text(f"{say('library-recommended', lang)}: {line(options)}", style="dim")


def _whole(one: Incident, near: Sequence[Neighbour], lang: str) -> RenderableType:
    text = one.text(lang)
    facts = (
        str(one.year),
        line(one.organisation),
        _said("scope", one.scope, lang),
        _said("kind", one.kind, lang),
    )
    head = "".join(f"  {fact}" for fact in facts)
    rows = [(say("library-verified", lang), _said("verified", one.verified, lang))]
    for field in _FIELDS:
        value = getattr(text, field)
        items = (
            [line(value)] if isinstance(value, str) and value else [f"- {line(item)}" for item in value or ()]
        )
        rows.append((say(f"library-{field}", lang), "\n".join(items) or say("library-not-said", lang)))
    rows += [(say("library-terms", lang), "\n".join(_terms(one, lang)))]
    caught = [f"evenpace {judge.by}: {judge.label(lang)}" for judge in judges(one)]
    rows.append((say("library-judges", lang), "\n".join(caught) or say("library-no-judge", lang)))
    similar_head = Text(say("library-similar", lang), style="bold")
    close = _neighbours(near, lang) or Text(say("library-no-similar", lang))
    return Group(
        Text.assemble((one.id, "bold"), head),
        Text(line(text.title), style="bold"),
        *(part for source in one.sources for part in _source(source)),
        Text(),
        pairs(rows),
        Text(),
        similar_head,
        Padding(close, (0, 0, 0, 2)),
    )


def _source(source: Source) -> tuple[Text, Text]:
    """Return the title and the address, whole on its line whatever the width, to be copied."""
    return Text(line(source.title)), Text(
        line(source.url), style="underline", no_wrap=True, overflow="ignore"
    )


def _terms(one: Incident, lang: str) -> Iterator[str]:
    for facet in OF_TERMS:
        slugs = getattr(one.terms, facet)
        named = ", ".join(f"{forms.term_name(facet, slug, lang)} ({slug})" for slug in slugs)
        yield f"{say(f'library-{facet}', lang)}: {line(named) or say('library-not-said', lang)}"


def _said(name: str, value: str, lang: str) -> str:
    return say(f"library-{name}-{value}", lang)


def _neighbours(near: Sequence[Neighbour], lang: str) -> RenderableType | None:
    rows = [(n.incident.id, f"{line(n.incident.text(lang).title)}\n{n.why(lang)}") for n in near]
    return pairs(rows) if rows else None


def _findings(file: Path) -> list[Finding]:
    where = "standard input" if str(file) == "-" else str(file)
    try:
        raw = _bytes(file)
        page = msgspec.json.decode(raw)
        return [msgspec.convert(one, Finding) for one in page["findings"]]
    except OSError as error:
        raise Problem(f"cannot read {where}: {error.strerror}") from error
    except (msgspec.DecodeError, KeyError, TypeError, RecursionError, UnicodeDecodeError) as error:
        hint = "`evenpace report RUN --format json` prints them"
        raise Problem(f"{where} holds no findings of evenpace ({str(error)[:80]}); {hint}") from error


def _bytes(file: Path) -> bytes:
    if str(file) == "-":
        raw = sys.stdin.buffer.read(_LARGEST_FINDING + 1)
    else:
        if not stat.S_ISREG(file.stat().st_mode):
            raise Problem(f"{file} is no file; name a file of findings, or - for standard input")
        with file.open("rb") as opened:
            raw = opened.read(_LARGEST_FINDING + 1)
    if len(raw) > _LARGEST_FINDING:
        raise Problem(
            f"more than {_LARGEST_FINDING // 1024 // 1024} MiB of findings; cut them to those of one run"
        )
    return raw


def _print_json(page: dict[str, Any]) -> None:
    print(json.dumps({"schema": 1} | page, ensure_ascii=False, indent=2))
