"""What is wrong with the files of the library, each with its line and how to mend it.

Reading stops at the first error; validation lists all of them, of all files.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec
import yaml

from evenpace.errors import Problem
from evenpace.library import records
from evenpace.library.records import FACETS, LANGUAGES, Incident, Text
from evenpace.terms import facets

Path_ = tuple[str | int, ...]
_HANGUL = re.compile(r"[\uac00-\ud7a3]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_STEP = re.compile(r"\.(?P<key>\w+)|\[(?P<index>\d+)\]")
_TEXTS = tuple(field.name for field in msgspec.structs.fields(Text))
_HINTS = {
    "verified": "open the primary source, correct the case to what it says, then write opened or excerpt; "
    "cases that nobody opened are not published",
    "terms": "`evenpace library terms` lists the facets and their terms",
    "sources": "name at least one public report: url and title",
    "id": "an id is IL- and four digits, and the file's name",
    "scope": "choose one of training, serving, k8s, hpc, facility",
    "kind": "choose one of incident, known-issue, study",
}


@dataclass(frozen=True, slots=True)
class Flaw:
    """Say what is wrong in which line, and what to do."""

    file: Path
    line: int
    what: str
    fix: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}; {self.fix}"


def validate(files: Iterable[Path]) -> list[Flaw]:
    """Return all flaws of the files, in order; none means that all of them can be published."""
    flaws: list[Flaw] = []
    owners: dict[str, list[tuple[Path, int]]] = defaultdict(list)
    for path in dict.fromkeys(files):
        page = _Page(path)
        flaws += page.flaws()
        for id_, line in page.ids():
            owners[id_].append((path, line))
    for id_, places in owners.items():
        for path, line in places[1:]:
            flaws.append(Flaw(path, line, f"{id_} is already used by {places[0][0].name}", "take another id"))
    return sorted(flaws, key=lambda flaw: (str(flaw.file), flaw.line))


class _Page:
    """One file: its data, and the lines where they are."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tree: yaml.Node | None = None
        self.data: Any = None
        self.first: list[Flaw] = []
        try:
            self._parse(records.source(path))
        except Problem as problem:
            self.first.append(Flaw(path, 1, str(problem), "mend the file first"))

    def _parse(self, text: str) -> None:
        if broken := _CONTROL.search(text):
            line = text.count("\n", 0, broken.start()) + 1
            code = f"U+{ord(broken.group()):04X}"
            self.first.append(Flaw(self.path, line, f"invisible control character {code}", "delete it"))
            return
        try:
            self.first += self._forbidden(text)
            if not self.first:
                self.tree = yaml.compose(text, Loader=yaml.CSafeLoader)
                self.data = records.parse(text)
        except records.UNREADABLE as error:
            mark = getattr(error, "problem_mark", None)
            what = getattr(error, "problem", None) or str(error)
            fix = "quote a text that holds ': ' or begins with one of `@%[{&*!|>#, and indent by two spaces"
            self.first.append(Flaw(self.path, mark.line + 1 if mark else 1, f"not YAML: {what}", fix))

    def _forbidden(self, text: str) -> Iterator[Flaw]:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            line = event.start_mark.line + 1 if event.start_mark else 1
            if getattr(event, "anchor", None):
                yield Flaw(
                    self.path, line, "anchors and aliases are not allowed", "write the text out, or quote it"
                )
            if tag := getattr(event, "tag", None):
                yield Flaw(self.path, line, f"tag {tag!r} is not allowed", "quote a text that begins with !")

    def ids(self) -> list[tuple[str, int]]:
        """Return the ids that the file claims, with their lines."""
        if not isinstance(self.data, dict):
            return []
        also = self.data.get("also")
        also = also if isinstance(also, list) else []
        own = [(self.data.get("id"), self._line(("id",)))]
        own += [(id_, self._line(("also", n))) for n, id_ in enumerate(also)]
        return [(id_, line) for id_, line in own if isinstance(id_, str)]

    def flaws(self) -> Iterator[Flaw]:
        """Yield what is wrong with this file alone."""
        if self.first:
            yield from self.first
            return
        yield from self._repeated(self.tree)
        yield from self._unseen(self.tree)
        found = list(self._against(self.data, Incident, ()))
        yield from found
        if not found:
            yield from self._content(msgspec.convert(self.data, Incident))

    # --- The schema --------------------------------------------------------------------------------

    def _against(self, value: Any, type_: Any, at: Path_) -> Iterator[Flaw]:
        if not (isinstance(type_, type) and issubclass(type_, msgspec.Struct)):
            yield from self._convert(value, type_, at)
            return
        if not isinstance(value, dict):
            names = ", ".join(field.name for field in msgspec.structs.fields(type_))
            yield self._flaw(at, f"{_name(at)} is no mapping", f"write its fields below it: {names}")
            return
        known = {field.name: field for field in msgspec.structs.fields(type_)}
        for key in value:
            if key not in known:
                near = get_close_matches(str(key), known, 1)
                fix = f"did you mean {near[0]}?" if near else f"the fields are {', '.join(known)}"
                yield self._flaw((*at, key), f"unknown field {str(key)!r}", fix)
        for name, field in known.items():
            if name in value:
                yield from self._against(value[name], field.type, (*at, name))
            elif field.required:
                hint = _HINTS.get(name, "write it")
                yield self._flaw(at, f"{_name((*at, name))} is missing", hint)

    def _convert(self, value: Any, type_: Any, at: Path_) -> Iterator[Flaw]:
        try:
            msgspec.convert(value, type_)
        except msgspec.ValidationError as error:
            reason, _, where = str(error).partition(" - at `$")
            inner = tuple(step["key"] or int(step["index"]) for step in _STEP.finditer(where.rstrip("`")))
            empty = reason.endswith("got `null`")
            hint = (not empty and _HINTS.get(str(at[-1]))) or _hint(None if empty else value)
            what = "nothing is written there" if empty else _plain(reason)
            yield self._flaw((*at, *inner), f"{_name((*at, *inner))}: {what}", hint)

    def _unseen(self, node: yaml.Node | None) -> Iterator[Flaw]:
        """Yield control characters that were written as escapes."""
        if isinstance(node, yaml.ScalarNode) and (broken := _CONTROL.search(node.value)):
            what = f"invisible control character U+{ord(broken.group()):04X}, written as an escape"
            yield Flaw(self.path, node.start_mark.line + 1, what, "delete it")
        elif isinstance(node, yaml.MappingNode):
            for pair in node.value:
                for part in pair:
                    yield from self._unseen(part)
        elif isinstance(node, yaml.SequenceNode):
            for part in node.value:
                yield from self._unseen(part)

    def _repeated(self, node: yaml.Node | None) -> Iterator[Flaw]:
        if not isinstance(node, yaml.MappingNode):
            return
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:
                line = key.start_mark.line + 1
                yield Flaw(self.path, line, f"{key.value!r} is written twice", "keep one of them")
            seen.add(key.value)
            yield from self._repeated(value)

    # --- What the schema cannot say ----------------------------------------------------------------

    def _content(self, incident: Incident) -> Iterator[Flaw]:
        if incident.id != self.path.stem:
            yield self._flaw(("id",), f"the id is {incident.id}", f"name the file {incident.id}.yaml")
        if "," in incident.organisation:
            yield self._flaw(
                ("organisation",), "a comma in the organisation", "use / between two organisations"
            )
        yield from self._terms(incident)
        yield from self._empty()
        yield from self._languages(incident)

    def _terms(self, incident: Incident) -> Iterator[Flaw]:
        for facet in FACETS:
            vocabulary = facets()[facet]
            slugs = getattr(incident.terms, facet)
            if not slugs and facet != "factor":
                yield self._flaw(
                    ("terms", facet), f"no {facet}", f"`evenpace library terms {facet}` lists them"
                )
            for n, slug in enumerate(slugs):
                if slug not in vocabulary:
                    near = get_close_matches(slug, vocabulary, 1)
                    guess = f"did you mean {near[0]}?" if near else "choose another"
                    fix = f"{guess} `evenpace library terms {facet}` lists them"
                    yield self._flaw(("terms", facet, n), f"unknown {facet} {slug!r}", fix)
                elif slug in slugs[:n]:
                    yield self._flaw(("terms", facet, n), f"{slug} is listed twice", "delete one")

    def _empty(self) -> Iterator[Flaw]:
        for lang in LANGUAGES:
            for name, value in self.data[lang].items():
                if not value:
                    what = f"{lang}.{name}: nothing is written there"
                    yield self._flaw((lang, name), what, _hint(None))

    def _languages(self, incident: Incident) -> Iterator[Flaw]:
        for name in _TEXTS:
            here, there = (getattr(incident.text(lang), name) for lang in LANGUAGES)
            if bool(here) != bool(there):
                lang = "ko" if here else "en"
                fix = "translate it, or leave it out of both where the report does not say"
                yield self._flaw((lang,), f"{lang}.{name} is missing", fix)
            elif isinstance(here, tuple) and len(here) != len(there):
                what = f"{len(here)} {name} in English, {len(there)} in Korean"
                yield self._flaw(("ko", name), what, "write the same items in both, in the same order")
            else:
                yield from self._scripts(name, here, there)

    def _scripts(self, name: str, en: Any, ko: Any) -> Iterator[Flaw]:
        for lang, text in (("en", en), ("ko", ko)):
            for n, item in enumerate((text,) if isinstance(text, str) else text):
                at: Path_ = (lang, name) if isinstance(text, str) else (lang, name, n)
                if item and bool(_HANGUL.search(item)) != (lang == "ko"):
                    what = "no Korean in it" if lang == "ko" else "Korean in the English text"
                    yield self._flaw(at, f"{_name(at)}: {what}", "write it in the language of its block")
                if name == "title" and item.endswith("."):
                    yield self._flaw(at, f"{_name(at)} ends in a period", "delete the period")

    # --- Lines -------------------------------------------------------------------------------------

    def _flaw(self, at: Path_, what: str, fix: str) -> Flaw:
        return Flaw(self.path, self._line(at), what, fix)

    def _line(self, at: Path_) -> int:
        node, line = self.tree, 1
        for step in at:
            if isinstance(node, yaml.MappingNode):
                found = [(key, value) for key, value in node.value if key.value == str(step)]
                if not found:
                    break
                line, node = found[0][0].start_mark.line + 1, found[0][1]
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
                node = node.value[step]
                line = node.start_mark.line + 1
        return line


def _name(at: Path_) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in at).lstrip(".")
    return text or "the file"


def _hint(value: Any) -> str:
    if value is None:
        return "write it, or delete it where the report does not say"
    return "a text that looks like a number or a list must be quoted"


def _plain(reason: str) -> str:
    return reason.replace("`", "").replace("array", "list").replace("object", "mapping")
