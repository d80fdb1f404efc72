"""Ask for the fields of a new case and write its file."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import click
import msgspec

import evenpace
from evenpace.cli._library.choosing import hint
from evenpace.errors import Problem
from evenpace.library.catalogue import home
from evenpace.library.records import FACETS, Incident, parse, source
from evenpace.library.scaffold import next_id, scaffold
from evenpace.terms import facets

_ID = re.compile(r"IL-[0-9]{4}")
_QUESTIONS = {
    "url": "Address of the public report",
    "source_title": "What is the report called",
    "organisation": "Organisation",
    "year": "Year of the event",
    "scope": "Scope",
    "kind": "Kind",
    "verified": "How far did you read it: all that the case needs, or a part",
    "title": "Title: one sentence, what failed and what it did",
    "symptom_text": "Symptom: what people saw first",
}
_CHOICES = {
    "scope": ["training", "serving", "k8s", "hpc", "facility"],
    "kind": ["incident", "known-issue", "study"],
    "verified": ["opened", "excerpt"],
}


def new(folder: Path | None, given: dict[str, Any]) -> None:
    """Ask for what is not given, and write the file; raises Problem where it is there already."""
    place = _place(folder)
    id_ = given.pop("id_") or next_id(sorted(place.glob("*.yaml")))
    if not _ID.fullmatch(id_):
        raise Problem(f"{id_[:20]!r} is no id; an id is IL- and four digits")
    fields = {name: given[name] if given[name] is not None else _ask(name) for name in _QUESTIONS}
    fields |= {facet: _terms(facet, given[facet]) for facet in FACETS}
    path = _near_here(place / f"{id_}.yaml")
    text = scaffold({"id": id_, **fields})
    _check(text, place, id_)
    _write(path, text)
    click.echo(f"{path}\nNext: complete both languages in an editor, then: evenpace library validate {path}")


def _check(text: str, place: Path, id_: str) -> None:
    """Refuse what validation would refuse for good: only the Korean text may be missing."""
    data = parse(text)
    try:
        msgspec.convert(data | {"ko": data["en"]}, Incident)
    except msgspec.ValidationError as error:
        raise Problem(f"{str(error).replace('`', '')}; give it again, as an option or when asked") from error
    for path in sorted(place.glob("*.yaml")):
        if re.search(rf"^also:.*\b{id_}\b", source(path), re.MULTILINE):
            raise Problem(f"{id_} was merged into {path.stem}; choose another --id")


def _near_here(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _place(folder: Path | None) -> Path:
    """Return the folder for the file; raises Problem where there is none, or evenpace is installed."""
    place = folder or home()
    if folder is None and place.is_relative_to(Path(evenpace.__file__).parent):
        raise Problem("evenpace is installed here, not checked out; add --folder CHECKOUT/incidents")
    if not place.is_dir():
        raise Problem(f"there is no folder {place}; name the folder of the cases with --folder")
    return place


def _ask(name: str) -> Any:
    kind: Any = (
        click.Choice(_CHOICES[name])
        if name in _CHOICES
        else click.IntRange(1990, 2100)
        if name == "year"
        else str
    )
    return _answer(f"--{name.replace('_', '-')}", _QUESTIONS[name], type=kind)


def _answer(option: str, question: str, **how: Any) -> Any:
    """Ask; raises Problem where standard input is no terminal and has nothing left."""
    try:
        return click.prompt(question, **how)
    except click.Abort as error:
        if sys.stdin.isatty():
            raise
        raise Problem(f"no answer is left for {option}; give it as an option") from error


def _terms(facet: str, given: tuple[str, ...]) -> list[str]:
    named = [one.strip() for text in given for one in text.split(",") if one.strip()]
    if given and not named and facet != "factor":
        raise Problem(f"no {facet}; `evenpace library terms {facet}` lists them")
    if not named:
        empty = "; empty for none" if facet == "factor" else ""
        told = f"Terms of the {facet}, commas between (? lists them{empty})"
        named = _asked_terms(facet, told)
    for one in named:
        if one not in facets()[facet]:
            raise Problem(f"there is no {facet} {one[:40]!r}; {hint(facet, one)}")
    return list(dict.fromkeys(named))


def _asked_terms(facet: str, told: str) -> list[str]:
    while True:
        text = _answer(f"--{facet}", told, default="" if facet == "factor" else None, show_default=False)
        named = [one.strip() for one in text.split(",") if one.strip()]
        unknown = [one for one in named if one not in facets()[facet]]
        if not unknown:
            return named
        if unknown == ["?"]:
            click.echo("\n".join(f"  {term.slug}: {term.en}" for term in facets()[facet].values()))
        for one in unknown:
            if one != "?":
                click.echo(f"  no {one!r}; {hint(facet, one)}")


def _write(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise Problem(f"{path} is there already; choose another --id") from error
    except OSError as error:
        raise Problem(f"cannot write {path}: {error.strerror}; choose another --folder") from error
