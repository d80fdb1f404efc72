"""Ask for the fields of a new case and write its file."""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from evenpace.errors import Problem
from evenpace.library.catalogue import home
from evenpace.library.records import FACETS
from evenpace.library.scaffold import scaffold
from evenpace.terms import facets

_ID = re.compile(r"^IL-[0-9]{4}$")
_QUESTIONS = {
    "url": "Address of the public report",
    "source_title": "What is the report called",
    "organisation": "Organisation",
    "year": "Year of the event",
    "scope": "Scope",
    "kind": "Kind",
    "verified": "How far did you read it (opened: all that the case needs; excerpt: a part)",
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
    place = folder or home()
    if not place.is_dir():
        raise Problem(f"there is no folder {place}; name the folder of the cases with --folder")
    id_ = given.pop("id_") or _next(place)
    if not _ID.match(id_):
        raise Problem(f"{id_[:20]!r} is no id; an id is IL- and four digits")
    fields = {name: given[name] if given[name] is not None else _ask(name) for name in _QUESTIONS}
    fields |= {facet: _terms(facet, given[facet]) for facet in FACETS}
    path = place / f"{id_}.yaml"
    _write(path, scaffold({"id": id_, **fields}))
    click.echo(f"{path}\nNext: complete both languages in an editor, then: evenpace library validate {path}")


def _next(place: Path) -> str:
    taken = [int(path.stem[3:]) for path in place.glob("IL-*.yaml") if _ID.match(path.stem)]
    return f"IL-{max(taken, default=0) + 1:04d}"


def _ask(name: str) -> Any:
    kind: Any = (
        click.Choice(_CHOICES[name])
        if name in _CHOICES
        else click.IntRange(1990, 2100)
        if name == "year"
        else str
    )
    return click.prompt(_QUESTIONS[name], type=kind)


def _terms(facet: str, given: tuple[str, ...]) -> list[str]:
    named = [one.strip() for text in given for one in text.split(",") if one.strip()]
    if not named:
        empty = "; empty for none" if facet == "factor" else ""
        told = f"Terms of the {facet}, commas between (? lists them{empty})"
        named = _asked_terms(facet, told)
    for one in named:
        if one not in facets()[facet]:
            raise Problem(f"there is no {facet} {one[:40]!r}; {_near(facet, one)}")
    return named


def _asked_terms(facet: str, told: str) -> list[str]:
    while True:
        text = click.prompt(told, default="" if facet == "factor" else None, show_default=False)
        named = [one.strip() for one in text.split(",") if one.strip()]
        unknown = [one for one in named if one not in facets()[facet]]
        if not unknown:
            return named
        if unknown == ["?"]:
            click.echo("\n".join(f"  {term.slug}: {term.en}" for term in facets()[facet].values()))
        for one in unknown:
            if one != "?":
                click.echo(f"  no {one!r}; {_near(facet, one)}")


def _near(facet: str, text: str) -> str:
    """Offer the terms whose slug, label or synonym is close to a text."""
    names = {
        name.lower(): t.slug for t in facets()[facet].values() for name in (t.slug, t.en, t.ko, *t.synonyms)
    }
    found = dict.fromkeys(names[name] for name in get_close_matches(text.lower(), names, 5, 0.5))
    return f"did you mean {' or '.join(found)}?" if found else f"`evenpace library terms {facet}` lists them"


def _write(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise Problem(f"{path} is there already; choose another --id") from error
    except OSError as error:
        raise Problem(f"cannot write {path}: {error.strerror}; choose another --folder") from error
