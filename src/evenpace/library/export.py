"""The cases in forms that others read: Markdown, JSON lines and CSV, all as text; nothing is written here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from csv import writer

import msgspec

from evenpace.library.judges import judges
from evenpace.library.records import FACETS, Incident
from evenpace.library.similar import Neighbour
from evenpace.terms import UnknownTerm, label, say

# Control characters and marks of direction that JSON does not escape by itself.
_UNSEEN = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_CODE = re.compile(r"(`[^`\n]+`)")
_SPECIAL = re.compile(r"([\\`*_\[\]<>~|])")
_BLOCK = re.compile(r"^([0-9]{0,9})([-+=#]|(?<=[0-9])[.)](?=\s|$))")  # a heading, a list or a numbered one
_UNSAFE_IN_URL = re.compile(r"[^!#$%&'()*+,./0-9:;=?@A-Z\[\]_a-z~-]")
_PARAGRAPH = re.compile(r"\n\s*\n")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
COLUMNS = (
    *("id", "year", "organisation", "scope", "kind", "verified", "title", "symptom", "trigger", "cause"),
    *("detection", "actions", "follow_up", "lesson"),
    *(f"{facet}_terms" for facet in FACETS),
    *("sources", "also"),
)


def jsonl(incidents: Iterable[Incident]) -> Iterator[str]:
    """Yield one line of JSON a case, with all fields and both languages."""
    for incident in incidents:
        yield visible(msgspec.json.encode(incident).decode()) + "\n"


def visible(encoded: str) -> str:
    """Escape in JSON what it leaves as it is, but a terminal obeys or a reader cannot see."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found.group()):04x}", encoded)


def csv(incidents: Iterable[Incident], lang: str) -> Iterator[str]:
    """Yield the header and a row a case, its text in `lang`; items of a list are lines of their cell.

    A cell that a spreadsheet would take for a formula begins with an apostrophe.
    """
    lines = _Lines()
    rows = writer(lines, lineterminator="\r\n")
    rows.writerow(COLUMNS)
    yield lines.take()
    for incident in incidents:
        rows.writerow([_cell(value) for value in _row(incident, lang)])
        yield lines.take()


def markdown(incident: Incident, lang: str, alike: Sequence[Neighbour] = ()) -> str:
    """Return a case as a page of Markdown in `lang`, with the cases `alike` at its end."""
    text = incident.text(lang)
    silent = say("library-not-said", lang)
    parts = [f"# {incident.id}: {inline(text.title)}", " · ".join(_facts(incident, lang))]
    parts += _section("source", lang, [_link(one.title, one.url) for one in incident.sources])
    for name in ("symptom", "trigger", "cause"):
        parts += [f"## {say(f'library-{name}', lang)}", _prose(getattr(text, name)) or silent]
        parts += _terms(incident, name, lang)
    for facet in ("component", "factor"):
        parts += [f"## {say(f'library-{facet}', lang)}", *(_terms(incident, facet, lang) or [silent])]
    parts += [f"## {say('library-detection', lang)}", _prose(text.detection) or silent]
    for name in ("actions", "follow_up"):
        parts += _section(name, lang, [inline(item) for item in getattr(text, name)] or [silent])
    parts += [f"## {say('library-lesson', lang)}", _prose(text.lesson) or silent]
    caught = [f"{one.label(lang)} (`evenpace {one.by}`)" for one in judges(incident)]
    parts += _section("judges", lang, caught or [say("library-no-judge", lang)])
    if alike:
        parts += _section("similar", lang, [_alike(one, lang) for one in alike])
    return "\n\n".join(parts) + "\n"


def term_name(facet: str, slug: str, lang: str) -> str:
    """Return a term's label, or its slug where the vocabulary does not have it."""
    try:
        return label(facet, slug, lang)
    except UnknownTerm:
        return slug


class _Lines:
    """Collect what csv's writer writes."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def write(self, text: str) -> int:
        """Keep `text`."""
        self.parts.append(text)
        return len(text)

    def take(self) -> str:
        """Return what was kept since the last time."""
        text = "".join(self.parts)
        self.parts.clear()
        return text


def _row(incident: Incident, lang: str) -> Iterator[object]:
    text = incident.text(lang)
    for name in COLUMNS:
        if name.endswith("_terms"):
            yield getattr(incident.terms, name.removesuffix("_terms"))
        elif name == "sources":
            yield tuple(one.url for one in incident.sources)
        else:
            yield getattr(text, name) if hasattr(text, name) else getattr(incident, name)


def _cell(value: object) -> str:
    text = "\n".join(value) if isinstance(value, tuple) else str(value)
    text = "".join(letter for letter in text if letter.isprintable() or letter in "\n\t")
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) else text


def _facts(incident: Incident, lang: str) -> Iterator[str]:
    yield inline(incident.organisation)
    yield str(incident.year)
    for name in ("scope", "kind", "verified"):
        yield say(f"library-{name}-{getattr(incident, name)}", lang)


def _section(name: str, lang: str, items: Sequence[str]) -> list[str]:
    return [f"## {say(f'library-{name}', lang)}", "\n".join(f"- {item}" for item in items)]


def _terms(incident: Incident, facet: str, lang: str) -> list[str]:
    named = [
        f"{inline(term_name(facet, slug, lang))} (`{slug}`)" for slug in getattr(incident.terms, facet, ())
    ]
    return [", ".join(named)] if named else []


def _alike(one: Neighbour, lang: str) -> str:
    title = inline(one.incident.text(lang).title)
    return f"{one.incident.id}: {title} ({inline(one.why(lang))})"


def _link(title: str, url: str) -> str:
    safe = _UNSAFE_IN_URL.sub(lambda found: "".join(f"%{byte:02X}" for byte in found.group().encode()), url)
    return f"[{inline(title)}](<{safe}>)"


def _prose(text: str) -> str:
    return "\n\n".join(inline(part) for part in _PARAGRAPH.split(text.strip()) if part)


def inline(text: str) -> str:
    """Escape what Markdown or HTML would take for markup, but for `code`; on one line."""
    parts = _CODE.split(" ".join(text.split()))
    kept = "".join(part if n % 2 else _escape(part) for n, part in enumerate(parts))
    return _BLOCK.sub(r"\1\\\2", kept)


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text.replace("&", "&amp;"))
