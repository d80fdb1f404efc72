"""One incident: its record, and how a file of it is read.

A file `IL-NNNN.yaml` is untrusted input: YAML's safe loader reads it, up to a size, into these types only.
"""

from __future__ import annotations

from pathlib import Path
from stat import S_ISREG
from typing import Annotated, Any, Literal

import msgspec
import yaml

from evenpace.errors import Problem

LARGEST = 64 * 1024
# What reading hostile YAML may raise: the loader's own constructors stumble over odd numbers, dates and tags.
UNREADABLE = (yaml.YAMLError, RecursionError, ValueError, KeyError, AttributeError, TypeError)
FACETS = ("cause", "component", "symptom", "factor")
LANGUAGES = ("en", "ko")

Id = Annotated[str, msgspec.Meta(pattern=r"^IL-[0-9]{4}$")]
Slug = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9-]{1,64}$")]
Line = Annotated[str, msgspec.Meta(min_length=1, max_length=400)]
Prose = Annotated[str, msgspec.Meta(max_length=4000)]
Item = Annotated[str, msgspec.Meta(min_length=1, max_length=1500)]
Items = Annotated[tuple[Item, ...], msgspec.Meta(max_length=40)]
Slugs = Annotated[tuple[Slug, ...], msgspec.Meta(max_length=12)]
Scope = Literal["training", "serving", "k8s", "hpc", "facility"]
Kind = Literal["incident", "known-issue", "study"]
# How far the sources were read: all of it, only its opening or abstract, or a published summary of the case.
Verified = Literal["opened", "excerpt", "seed"]


class Terms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold slugs of the vocabulary by facet, the main one first."""

    cause: Slugs
    component: Slugs
    symptom: Slugs
    factor: Slugs = ()


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Point to a public report; `title` is what the reader will find there."""

    url: Annotated[str, msgspec.Meta(pattern=r"^https?://", max_length=500)]
    title: Line


class Text(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tell the case in one language, in our own words; what the report does not say is left out."""

    title: Line
    symptom: Annotated[str, msgspec.Meta(min_length=1, max_length=4000)]
    trigger: Prose = ""
    cause: Prose = ""
    detection: Prose = ""
    actions: Items = ()
    follow_up: Items = ()
    lesson: Prose = ""


class Incident(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold one case; `also` are ids of cases that were merged into this one."""

    id: Id
    organisation: Annotated[str, msgspec.Meta(min_length=1, max_length=80)]
    year: Annotated[int, msgspec.Meta(ge=1990, le=2100)]
    scope: Scope
    kind: Kind
    verified: Verified
    terms: Terms
    sources: Annotated[tuple[Source, ...], msgspec.Meta(min_length=1, max_length=12)]
    en: Text
    ko: Text
    also: tuple[Id, ...] = ()

    def text(self, lang: str) -> Text:
        """Return the case in `lang`; English for a language that we do not have."""
        return self.ko if lang == "ko" else self.en


def read(path: Path) -> Incident:
    """Read one file; raises Problem with the first thing that is wrong (validate() lists all, with lines)."""
    try:
        return msgspec.convert(parse(source(path)), Incident)
    except (*UNREADABLE, msgspec.ValidationError) as error:
        reason = " ".join(str(error).split())
        raise Problem(
            f"{path}: {reason}; `evenpace library validate {path}` says where and how to mend it"
        ) from error


def source(path: Path) -> str:
    """Return a file's text; raises Problem where it cannot be read, is too large or is not UTF-8."""
    try:
        if not S_ISREG(path.stat().st_mode):
            raise Problem(f"cannot read {path}: it is no file")
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
    except OSError as error:
        raise Problem(f"cannot read {path}: {error.strerror}") from error
    if len(raw) > LARGEST:
        raise Problem(f"{path} is larger than {LARGEST // 1024} KiB: a case is a page, not a log; shorten it")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Problem(f"{path} is not UTF-8 (byte {error.start}); save it as UTF-8") from error


def parse(text: str) -> Any:
    """Parse YAML into plain data by the safe loader, which also limits nesting; raises yaml.YAMLError."""
    return yaml.load(text, Loader=yaml.CSafeLoader)
