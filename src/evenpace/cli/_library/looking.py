"""Search, show and export cases."""

from __future__ import annotations

import shlex
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from evenpace.checks.catalogue import Check
from evenpace.checks.catalogue import Incident as Cited
from evenpace.checks.citing import citing
from evenpace.cli._library.choosing import case_id
from evenpace.cli._library.output import SCHEMA, put, put_json, tidy
from evenpace.errors import Problem
from evenpace.findings import Finding
from evenpace.library import export as forms
from evenpace.library.catalogue import Library, Query, Result, Suggestion
from evenpace.library.facets import members
from evenpace.library.judges import judges
from evenpace.library.records import FACETS as OF_TERMS
from evenpace.library.records import Incident, Source
from evenpace.library.similar import Neighbour, for_finding, similar
from evenpace.report.output import terminal
from evenpace.report.text import pairs
from evenpace.terms import say
from evenpace.terms.spelling import line

_LARGEST_FINDING = 8 * 1024 * 1024
_FIELDS = (
    *("symptom", "trigger", "cause", "component", "factor"),
    *("detection", "actions", "follow_up", "lesson"),
)
_TOP = 6
_MOST_WORDS = 8


def search(lib: Library, asked: Query, cut: tuple[int, int], form: str, lang: str) -> None:
    """Print one page of an answer; `cut` is the page and the cases on it."""
    page, limit = cut
    found = lib.search(asked, offset=(page - 1) * limit, limit=limit)
    found = replace(found, recommended=tuple(_narrowing(asked, found)))
    if (page - 1) * limit >= max(found.total, 1):
        raise Problem(f"there is no page {page}: {found.total} cases, {limit} a page")
    if form == "json":
        put_json({"total": found.total, "page": page, "limit": limit} | msgspec.to_builtins(found))
    elif form == "markdown":
        for one in found.incidents:
            about = f"{forms.inline(one.organisation)}, {one.year}"
            put(f"- **{one.id}** ({about}) {forms.inline(one.text(lang).title)}\n")
    elif found.total:
        terminal().print(Group(*_answer(lib, found, lang)))
    else:
        terminal().print(Group(*_loosen(lib, asked, lang)))


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
        put_json({"findings": links})
        return
    if form == "markdown":
        put("\n".join(_as_markdown(finding, close, lang) for finding, close in near))
        return
    console = terminal()
    if not near:
        console.print(Text(say("library-no-finding", lang)))
    for finding, close in near:
        console.print(Text(line(finding.sentence(lang)), style="bold"))
        console.print(
            Padding(_neighbours(close, lang) or Text(say("library-no-similar", lang)), (0, 0, 1, 2))
        )


def _as_markdown(finding: Finding, close: Sequence[Neighbour], lang: str) -> str:
    told = [(one.incident.id, one.incident.text(lang).title, one.why(lang)) for one in close]
    items = [f"- **{id_}** {forms.inline(title)} ({forms.inline(why)})" for id_, title, why in told]
    lines = [f"## {forms.inline(finding.sentence(lang))}", "", *(items or [say("library-no-similar", lang)])]
    return "\n".join(lines) + "\n"


def show(lib: Library, id_: str, form: str, lang: str) -> None:
    """Print one case whole."""
    one = lib.get(case_id(id_))
    near = similar(lib, one)
    if form == "json":
        cited = [_as_cited(check, why, lang) for check, why in citing(one.id)]
        told = {"incident": msgspec.to_builtins(one), "similar": [n.incident.id for n in near]}
        put_json(told | {"checks": cited})
    elif form == "markdown":
        put(forms.markdown(one, lang, near) + _checks_as_markdown(one, lang))
    else:
        terminal().print(_whole(one, near, lang), crop=False)


def _as_cited(check: Check, cited: Cited, lang: str) -> dict[str, str]:
    """Return a check that cites a case: what holds where it passes, and what it says of the case."""
    why = cited.ko if lang == "ko" else cited.en
    return {"id": check.id, "family": check.family, "title": check.content.title.say(lang, {}), "why": why}


def _checks(one: Incident, lang: str) -> list[tuple[str, str]]:
    """Return the checks that cite a case: id, and what holds where it passes."""
    return [(check.id, check.content.title.say(lang, {})) for check, _ in citing(one.id)]


def _checks_as_markdown(one: Incident, lang: str) -> str:
    items = [f"- `{id_}`: {forms.inline(title)}\n" for id_, title in _checks(one, lang)]
    return f"\n## {say('library-checks', lang)}\n\n{''.join(items)}" if items else ""


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
            put(text)
        return
    try:
        with output.open("x", encoding="utf-8", newline="") as file:
            file.writelines(lines)
    except FileExistsError as error:
        raise Problem(f"{output} is there already; choose another --output") from error
    except OSError as error:
        raise Problem(f"cannot write {output}: {error.strerror}") from error


def _answer(lib: Library, found: Result, lang: str) -> Iterator[RenderableType]:
    for one in found.incidents:
        text = one.text(lang)
        yield Text.assemble((one.id, "bold"), f"  {one.year}  {line(one.organisation)}")
        yield Padding(Text(line(text.title), style="bold"), (0, 0, 0, 2))
        yield Padding(Text(tidy(text.symptom)), (0, 0, 1, 2))
    yield Text(say("library-total", lang, count=found.total, all=len(lib.incidents)), style="dim")
    yield pairs([(say(f"library-{facet}", lang), _top(found, facet)) for facet in OF_TERMS])
    if found.recommended:
        yield Text()
        yield Text(say("library-recommended", lang), style="bold")
        yield Padding(pairs([_as_option(one, lang) for one in found.recommended]), (0, 0, 0, 2))


def _top(found: Result, facet: str) -> str:
    top = sorted(found.counts[facet].items(), key=lambda one: -one[1])[:_TOP]
    return ", ".join(f"{slug} {count}" for slug, count in top)


def _as_option(one: Suggestion, lang: str) -> tuple[str, str]:
    """Return a filter as it is typed with its count, and its label."""
    named = forms.term_name(one.facet, one.value, lang) if one.facet in OF_TERMS else ""
    return line(f"--{one.facet} {shlex.quote(one.value)} ({one.count})"), named


def _narrowing(asked: Query, found: Result) -> Iterator[Suggestion]:
    """Yield filters that narrow the answer: a second value of a chosen facet would widen it."""
    for one in found.recommended or found.frequent:
        if not asked.filters.get(one.facet) and one.count < found.total:
            yield one


def _loosen(lib: Library, asked: Query, lang: str) -> Iterator[Text]:
    """Say that nothing was found, and how many cases there are without each part of the query."""
    yield Text(say("library-nothing", lang))
    wider = {
        f"--{facet}": Query(asked.text, {name: of for name, of in asked.filters.items() if name != facet})
        for facet in asked.filters
    }
    if asked.text and asked.filters:
        wider[say("library-words", lang)] = Query("", asked.filters)
    words = asked.text.split()
    for n, word in enumerate(words[:_MOST_WORDS] if len(words) > 1 else ()):
        wider[line(word)] = Query(" ".join(words[:n] + words[n + 1 :]), asked.filters)
    counts = {what: lib.matching(query).bit_count() for what, query in wider.items()}
    for what, count in counts.items():
        if count:
            yield Text(say("library-without", lang, what=what, count=count))
    if not any(counts.values()):
        yield Text(say("library-fewer", lang))


def _whole(one: Incident, near: Sequence[Neighbour], lang: str) -> RenderableType:
    names = ("scope", "kind", "verified")
    facts = [
        str(one.year),
        line(one.organisation),
        *(_said(name, getattr(one, name), lang) for name in names),
    ]
    head = Text.assemble((one.id, "bold"), *(f"  {fact}" for fact in facts[:-1]))
    rows = [(say(f"library-{field}", lang), "\n".join(_field(one, field, lang))) for field in _FIELDS]
    rows.append((say("library-verified", lang), facts[-1]))
    caught = [f"evenpace {judge.by}: {judge.label(lang)}" for judge in judges(one)]
    cited = _checks(one, lang)
    return Group(
        head,
        Text(line(one.text(lang).title), style="bold"),
        *(part for source in one.sources for part in _source(source)),
        Text(),
        pairs(rows),
        *_below("judges", Text("\n".join(caught) or say("library-no-judge", lang)), lang),
        *(_below("checks", pairs(cited), lang) if cited else ()),
        *_below("similar", _neighbours(near, lang) or Text(say("library-no-similar", lang)), lang),
    )


def _below(name: str, body: RenderableType, lang: str) -> tuple[RenderableType, ...]:
    return Text(), Text(say(f"library-{name}", lang), style="bold"), Padding(body, (0, 0, 0, 2))


def _source(source: Source) -> tuple[Text, Text]:
    """Return the title and the address, whole on its line whatever the width, to be copied."""
    return Text(line(source.title)), Text(
        line(source.url), style="underline", no_wrap=True, overflow="ignore"
    )


def _field(one: Incident, name: str, lang: str) -> Iterator[str]:
    """Yield the lines of a field: its prose or items, then the terms of the facet of the same name."""
    slugs = getattr(one.terms, name, ())
    value = getattr(one.text(lang), name, "")
    if isinstance(value, tuple):
        yield from (f"- {tidy(item)}" for item in value)
    elif value:
        yield tidy(value)
    if not value and (name not in ("component", "factor") or not slugs):
        yield say("library-not-said", lang)
    if slugs:
        yield "· " + ", ".join(f"{forms.term_name(name, slug, lang)} ({slug})" for slug in slugs)


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
        if page["schema"] != SCHEMA:
            raise Problem(f"{where} has another schema than {SCHEMA}, which this evenpace reads")
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
