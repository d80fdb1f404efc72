"""Explain a line of a log, or a code, to somebody who has never seen it.

A line is known by its signatures, a code by the catalogue. What is only possible (a signature that needs
another line as well) is said to be so, and what is not known is never guessed: only what is near is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache
from math import log
from typing import Literal

import msgspec

from evenpace.diagnose import catalogue
from evenpace.diagnose.catalogue import Code
from evenpace.diagnose.catalogue.asked import Asked, asked_codes
from evenpace.diagnose.lines import read_lines
from evenpace.diagnose.matching import Matcher
from evenpace.diagnose.model import NOBODY, Identity, Line, Sighting
from evenpace.diagnose.signature import Signature, Step, Terms, signatures
from evenpace.terms.bilingual import Text

MOST_MEANINGS = 12
MOST_POSSIBLE = 3
_LONGEST = 1 << 20  # characters
_ROLES = {"cause": 0, "hint": 1, "consequence": 2, "marker": 3, "noise": 4}
_WORD = re.compile(r"[^\W\d_][\w.-]{2,40}")
_IDENTIFIER = re.compile(r"_|[a-z][A-Z]|^[A-Z]{4,}$")
_PLAIN = ("errno", "exits", "signals")  # kinds that add nothing to a line whose cause is known
_SENDS_HERE = "evenpace explain"  # a signature of any code, whose advice is to look it up
_MILD = ("ignore", "follow", "watch")
_NEAR_SHARE = 0.3  # of the question's words, by weight

Standing = Literal["cause", "hint", "consequence", "marker", "noise", "code"]


@dataclass(frozen=True, slots=True)
class Meaning:
    """Hold what a line or code means.

    `standing` is a signature's role, or `code`. `certain` is false where a signature needs further lines that
    were not shown. `treated_by` are the signatures that know a code. `details` fill the texts.
    """

    key: str
    standing: Standing
    title: Text
    text: Text | None
    certain: bool = True
    fault: str | None = None
    certainty: float | None = None
    steps: tuple[Step, ...] = ()
    missing: tuple[Text, ...] = ()
    treated_by: tuple[str, ...] = ()
    culprit: Identity = NOBODY
    terms: Terms = field(default_factory=Terms)
    sources: tuple[str, ...] = ()
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """Hold what is known of a question; `near` are signatures or codes whose words are close to it."""

    question: str
    meanings: tuple[Meaning, ...]
    near: tuple[tuple[str, Text], ...] = ()


def explain(question: str) -> Answer:
    """Explain `question`: a code, a line, or several lines of one log."""
    question = question[:_LONGEST]
    lines = read_lines("question", question)
    sure = _rooted(list(_seen(lines, signatures())))
    shown = {meaning.key for meaning in sure}
    accused = any(meaning.standing in ("cause", "hint") for meaning in sure)
    possible = [one for one in _seen(lines, _loosened()) if one.key not in shown][:MOST_POSSIBLE]
    coded = [
        meaning
        for asked in asked_codes(question)
        if not (accused and (asked.by_words or asked.code.kind in _PLAIN))
        and not shown & set((meaning := _of_code(asked)).treated_by)
    ]
    meanings = (*sure, *coded, *possible)[:MOST_MEANINGS]
    return Answer(question, meanings, () if meanings else tuple(_near(question)))


def _seen(lines: list[Line], known: Mapping[str, Signature]) -> Iterator[Meaning]:
    """Yield what signatures say of the lines, causes first and the surest first."""
    found: dict[str, Sighting] = {}
    for sighting in _matcher(known is signatures()).sightings(lines):
        found.setdefault(sighting.signature, sighting)
    order = sorted(found, key=lambda name: (_ROLES[known[name].role], -known[name].content.certainty, name))
    for name in order:
        yield _of_signature(known[name], found[name], certain=known is signatures())


def _rooted(meanings: list[Meaning]) -> list[Meaning]:
    """Return the meanings with those that follow from another one as its consequences; its mere hints go."""
    known = signatures()
    roots = [one for one in meanings if not any(known[by.key].explains(known[one.key]) for by in meanings)]
    if not roots:
        return meanings
    rest = [one for one in meanings if one not in roots and one.standing != "hint"]
    return roots + [_following(one) for one in rest]


def _following(one: Meaning) -> Meaning:
    """Return a cause as the consequence that it is here."""
    if one.standing != "cause":
        return one
    return replace(one, standing="consequence", certainty=None, culprit=NOBODY)


@cache
def _matcher(strict: bool) -> Matcher:
    return Matcher(signatures() if strict else _loosened())


@cache
def _loosened() -> Mapping[str, Signature]:
    """Return the signatures that need further lines, as if those were there."""
    return {
        name: msgspec.structs.replace(
            signature,
            content=msgspec.structs.replace(
                signature.content, also=tuple(also for also in signature.content.also if also.absent)
            ),
        )
        for name, signature in signatures().items()
        if not all(also.absent for also in signature.content.also)
    }


def _of_signature(signature: Signature, sighting: Sighting, certain: bool) -> Meaning:
    content = signature.content
    return Meaning(
        key=signature.id,
        standing=signature.role,  # type: ignore[arg-type]
        title=content.title,
        text=content.explanation,
        certain=certain,
        fault=signature.fault if signature.role in ("cause", "hint") else None,
        certainty=content.certainty if signature.role in ("cause", "hint") else None,
        steps=content.advice,
        missing=content.missing,
        culprit=sighting.culprit if certain else NOBODY,
        terms=content.terms,
        sources=content.sources,
        details=_details(sighting),
    )


def _details(sighting: Sighting) -> Mapping[str, str]:
    culprit = sighting.culprit
    known = {name: getattr(culprit, name) for name in ("rank", "local_rank", "host", "gpu", "pid")}
    said = {name: str(value) for name, value in known.items() if isinstance(value, int | str)}
    return said | dict(sighting.captures)


def _of_code(asked: Asked) -> Meaning:
    code = asked.code
    treats = [signatures()[name] for name in _treating(code)]
    title = asked.title or code.title
    return Meaning(
        key=asked.key,
        standing="consequence" if code.consequence else "code",
        title=Text(title, title),
        text=code.meaning,
        fault=treats[0].fault if treats and not code.consequence else None,
        steps=_steps(code, treats),
        treated_by=tuple(one.id for one in treats),
        terms=treats[0].content.terms if treats else code.terms,
        sources=code.sources,
    )


def _steps(code: Code, treats: Sequence[Signature]) -> tuple[Step, ...]:
    """Return the advice of the signature that treats a code, or what its class of action says."""
    action = catalogue.actions().get(code.action or "")
    if treats and not code.consequence and code.action not in _MILD:
        return treats[0].content.advice or ((action,) if action else ())
    return (action,) if action else ()


def _treating(code: Code) -> list[str]:
    """Return the signatures that know the line in which programs print the code, the surest first."""
    if code.probe is None:
        return []
    said = code.says[0] if code.says else ""
    if "{says}" in code.probe and not said:
        return []
    details = {"number": str(code.number), "says": said, "name": code.names[0] if code.names else ""}
    seen = _seen(read_lines("probe", code.probe.format_map(details)), signatures())
    known = [one for one in seen if one.standing in ("cause", "hint", "consequence")]
    return [one.key for one in known if not any(_SENDS_HERE in (step.command or "") for step in one.steps)][
        :2
    ]


def _near(question: str) -> Iterator[tuple[str, Text]]:
    """Yield codes whose names are spelt alike, then the signatures that share the rarest words."""
    words = list(dict.fromkeys(_WORD.findall(question)))[:200]
    yield from _spelt_alike([word for word in words if _IDENTIFIER.search(word)][:20])
    weights = {word: _weight(word) for word in {word.casefold() for word in words}}
    least = _NEAR_SHARE * sum(weights.values())
    shared = {name: known & set(weights) for name, known in _vocabulary().items()}
    scores = {name: sum(map(weights.__getitem__, of)) for name, of in shared.items() if len(of) > 1}
    nearest = sorted(scores, key=lambda name: (-scores[name], name))[:3]
    yield from ((name, signatures()[name].content.title) for name in nearest if scores[name] > least)


def _spelt_alike(words: Sequence[str]) -> Iterator[tuple[str, Text]]:
    spelt = {name.casefold(): name for name in catalogue.names()}
    for word in words:
        for alike in get_close_matches(word.casefold(), spelt, n=1, cutoff=0.85):
            yield spelt[alike], catalogue.of_name(alike)[0].meaning


@cache
def _vocabulary() -> Mapping[str, frozenset[str]]:
    return {
        name: frozenset(word.casefold() for text in _texts(signature) for word in _WORD.findall(text))
        for name, signature in signatures().items()
        if signature.role != "noise"
    }


def _texts(signature: Signature) -> Iterable[str]:
    content = signature.content
    return (signature.id, content.title.en, content.title.ko, *(example.text for example in content.example))


@cache
def _frequencies() -> Mapping[str, int]:
    counts: dict[str, int] = {}
    for words in _vocabulary().values():
        for word in words:
            counts[word] = counts.get(word, 0) + 1
    return counts


def _weight(word: str) -> float:
    """Return how much a shared word tells: the rarer, the more."""
    return log(1 + len(_vocabulary()) / _frequencies().get(word, 1))
