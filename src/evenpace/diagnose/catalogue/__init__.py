"""The codes that drivers, libraries and systems print, as data: one TOML file a kind, found by its path.

A file holds the kind's name, its terms, sources and, as `probe`, the line in which programs print such a
code: by it the signature that treats the code is found. A `[[code]]` holds numbers or names, what programs
say instead (`says`), what it means in both languages, an action of `_actions.toml`, and whether it only
follows from something else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import msgspec

from evenpace.diagnose.signature import Step, Terms
from evenpace.terms.bilingual import Text

HERE = Path(__file__).parent


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    en: str
    ko: str
    numbers: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    label: str = ""
    action: str | None = None
    probe: str | None = None
    consequence: bool = False


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    code: tuple[_Row, ...]
    sources: tuple[str, ...] = ()
    probe: str | None = None
    terms: Terms = Terms()


class Code(msgspec.Struct, frozen=True):
    """Hold one code of a kind (`xid`, `cuda`, ...): its number or names, its meaning, and what to do."""

    kind: str
    called: str
    number: int | None
    names: tuple[str, ...]
    says: tuple[str, ...]
    label: str
    meaning: Text
    action: str | None
    consequence: bool
    probe: str | None
    terms: Terms
    sources: tuple[str, ...]

    @property
    def key(self) -> str:
        """Return what tells it from all others: `xid-79`, `cuda-700`."""
        return f"{self.kind}-{self.names[0] if self.number is None else self.number}"

    @property
    def title(self) -> str:
        """Return what it is called, with its number, names and short label."""
        number = f"{self.called} {self.number}" if self.number is not None else ""
        return ": ".join(part for part in (number, ", ".join(self.names), self.label) if part)


@cache
def codes() -> Mapping[str, tuple[Code, ...]]:
    """Return all codes by kind, in the order of their files."""
    return {path.stem: tuple(_read(path)) for path in sorted(HERE.glob("[!_]*.toml"))}


@cache
def actions() -> Mapping[str, Step]:
    """Return what to do about a code, by the class of action."""
    return msgspec.toml.decode((HERE / "_actions.toml").read_bytes(), type=dict[str, Step])


def of_number(kind: str, number: int) -> Code | None:
    """Return the code of a kind that has this number."""
    return _numbers().get((kind, number))


def of_name(name: str) -> tuple[Code, ...]:
    """Return the codes that are called so, whatever the case of the letters."""
    return _names().get(name.casefold(), ())


def names() -> tuple[str, ...]:
    """Return all names of codes, as they are spelt."""
    return tuple(name for kind in codes().values() for code in kind for name in code.names)


def said_in(text: str) -> Iterator[Code]:
    """Yield the codes whose words are in `text`."""
    folded = text.casefold()
    yield from (code for words, code in _sayings() if words in folded)


@cache
def _numbers() -> Mapping[tuple[str, int], Code]:
    return {
        (kind, code.number): code for kind, of in codes().items() for code in of if code.number is not None
    }


@cache
def _names() -> Mapping[str, tuple[Code, ...]]:
    found: dict[str, tuple[Code, ...]] = {}
    for code in (code for of in codes().values() for code in of):
        for name in code.names:
            found[name.casefold()] = (*found.get(name.casefold(), ()), code)
    return found


@cache
def _sayings() -> tuple[tuple[str, Code], ...]:
    return tuple((words.casefold(), code) for of in codes().values() for code in of for words in code.says)


def _read(path: Path) -> Iterator[Code]:
    file = msgspec.toml.decode(path.read_bytes(), type=_File)
    for row in file.code:
        for number in row.numbers or (None,):
            yield Code(
                kind=path.stem,
                called=file.name,
                number=number,
                names=row.names,
                says=row.says,
                label=row.label,
                meaning=Text(row.en, row.ko),
                action=row.action,
                consequence=row.consequence,
                probe=row.probe or file.probe,
                terms=file.terms,
                sources=file.sources,
            )
