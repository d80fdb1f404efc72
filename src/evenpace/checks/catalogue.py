"""The checks: a folder each, `checks/<family>/<id>/`, found by path; those of others by entry point.

An entry point of the group `evenpace.checks` names a package that is laid out like this one. Only check.toml
is read here; `check.py` is imported when the check is run.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import msgspec

from evenpace.checks.answers import Answer
from evenpace.collect.kubernetes.kinds import expanded
from evenpace.errors import Problem
from evenpace.findings import Severity, Terms
from evenpace.terms.bilingual import Text

GROUP = "evenpace.checks"
FAMILIES = ("kubernetes", "slurm")


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold one piece of advice, with the exact command where there is one."""

    en: str
    ko: str
    command: str | None = None


class Incident(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Point to a case of the library, and say what of it the check would have prevented or shortened."""

    id: str
    en: str
    ko: str


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Point to a public document that says so."""

    url: Annotated[str, msgspec.Meta(pattern=r"^https://")]
    title: str


class _Content(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    title: Text
    why: Text
    gap: Text
    fault: str
    severity: Severity
    advice: tuple[Step, ...]
    unsure: Text | None = None
    certainty: float = 1.0
    judged: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    if_served: tuple[str, ...] = ()
    terms: Terms = Terms()
    incident: tuple[Incident, ...] = ()
    document: tuple[Document, ...] = ()


class Check(msgspec.Struct, frozen=True):
    """Hold one check: its id (the folder's name), its family (the folder above) and what check.toml says."""

    id: str
    family: str
    folder: Path
    package: str
    content: _Content

    @property
    def judged(self) -> tuple[str, ...]:
        """Return the kinds whose objects are judged, each that could be read."""
        return expanded(self.content.judged)

    @property
    def needs(self) -> tuple[str, ...]:
        """Return the kinds without which nothing can be said."""
        return expanded(self.content.needs)

    @property
    def if_served(self) -> tuple[str, ...]:
        """Return the kinds that a cluster may lack, but that must be read where it has them."""
        return expanded(self.content.if_served)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return all kinds that the check may look at."""
        return tuple(dict.fromkeys((*self.judged, *self.needs, *self.if_served)))

    def load(self) -> Callable[[Any], Iterable[Answer]]:
        """Import check.py and return its `check`: facts in, one answer a subject out."""
        module = importlib.import_module(f"{self.package}.{self.family}.{self.id}.check")
        found: Callable[[Any], Iterable[Answer]] = module.check
        return found


class BadCheck(Problem):
    """Say what is wrong with which check."""


@cache
def checks() -> Mapping[str, Check]:
    """Return all checks by id, in order of family and id; raises BadCheck."""
    found: dict[str, Check] = {}
    for package, home in _homes():
        for path in sorted(home.glob("*/*/check.toml")):
            check = read(path, package)
            if check.id in found:
                raise BadCheck(f"{path}: there is another check {check.id!r} in {found[check.id].folder}")
            found[check.id] = check
    return dict(sorted(found.items(), key=lambda item: (item[1].family, item[0])))


def chosen(ids: Sequence[str]) -> tuple[Check, ...]:
    """Return the named checks, all where none is named; raises Problem for an unknown one."""
    return tuple(map(find, ids)) if ids else tuple(checks().values())


def find(id_: str) -> Check:
    """Return a check by its id (`-` does for `_`); raises Problem."""
    known = checks()
    name = id_.strip().replace("-", "_")
    if name not in known:
        from difflib import get_close_matches

        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else "`evenpace audit --list` lists them"
        raise Problem(f"there is no check {id_[:60]!r}; {hint}")
    return known[name]


def read(path: Path, package: str) -> Check:
    """Read one check.toml; raises BadCheck."""
    try:
        content = msgspec.toml.decode(path.read_bytes(), type=_Content)
    except (OSError, msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise BadCheck(f"{path}: {error}") from None
    family = path.parent.parent.name
    if family not in FAMILIES:
        raise BadCheck(f"{path}: there is no family {family!r}; there are: {', '.join(FAMILIES)}")
    return Check(path.parent.name, family, path.parent, package, content)


def _homes() -> Iterator[tuple[str, Path]]:
    """Yield (package, folder) of our own checks and of those that are installed beside evenpace."""
    yield "evenpace.checks", Path(__file__).parent
    for point in entry_points(group=GROUP):
        try:
            spec = find_spec(point.value)
        except (ImportError, ValueError):
            spec = None
        if spec is None:
            raise BadCheck(f"the package {point.value} of the entry point {point.name!r} is not installed")
        for folder in spec.submodule_search_locations or ():
            yield point.value, Path(folder)
