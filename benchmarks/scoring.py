"""Score a diagnosis against the right answer of a failure-log case, by the rules of the cases' README."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenpace.diagnose.engine import Diagnosis, diagnose
from evenpace.diagnose.identity import canonical_gpu
from evenpace.diagnose.model import Case
from evenpace.diagnose.reading import read
from evenpace.diagnose.sources import Inputs
from evenpace.diagnose.telling import finding
from evenpace.findings import Finding

PARTS = ("category", "culprit", "advice", "evidence")
PLACES = ("rank", "host", "gpu")


@dataclass(frozen=True, slots=True)
class Score:
    """Hold which parts of a case were right, and what was wrong: `innocent` and `must_not` name it."""

    case: str
    right: dict[str, bool]
    innocent: str = ""
    must_not: str = ""


def cases(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the folders of the cases with their right answers."""
    for path in sorted(folder.glob("*/expected.json")):
        yield path.parent, json.loads(path.read_text(encoding="utf-8"))


def read_case(folder: Path, expected: dict[str, Any]) -> Case:
    """Read the logs of a case."""
    return read(Inputs([folder / name for name in expected["files"]]), jobs=1)


def answer(case: Case, without: Iterable[str] = ()) -> tuple[Diagnosis | None, Finding | None]:
    """Return the first thing that is said about a case, as a diagnosis and as a finding."""
    found = diagnose(case, without)
    return (found[0], finding(found[0])) if found else (None, None)


def score(expected: dict[str, Any], said: Finding | None) -> Score:
    """Score one answer."""
    named = _named(said)
    if expected.get("healthy"):
        fine = said is None or said.fault == "not-a-failure"
        return Score(expected["id"], dict.fromkeys(PARTS, fine), innocent="" if fine else _text(named))
    category = said.fault.replace("-", "_") if said else None
    culprit = _culprit(expected["culprit"], named)
    right = {
        "category": category == expected["category"],
        "culprit": culprit,
        "advice": _advised(said, expected["advice_keywords"]),
        "evidence": all(_quoted(said, text) for text in expected["evidence"]),
    }
    broken = [rule for rule in expected["must_not"] if _breaks(rule, category, named)]
    return Score(
        expected["id"],
        right,
        innocent=_text(_innocent(expected["culprit"], named)),
        must_not=json.dumps(broken) if broken else "",
    )


def _named(said: Finding | None) -> dict[str, set[str]]:
    subject = said.subject if said else None
    return {
        "rank": _set(subject and subject.rank),
        "local_rank": _set(subject and subject.local_rank),
        "host": _set(subject and subject.node),
        "gpu": {canonical_gpu(one) for one in _set(subject and subject.gpu)},
    }


def _set(value: object) -> set[str]:
    if value is None:
        return set()
    return {str(one) for one in value} if isinstance(value, list | tuple) else {str(value)}


def _wanted(expected: dict[str, Any], place: str) -> set[str]:
    values = _set(expected.get(place))
    return {canonical_gpu(one) for one in values} if place == "gpu" else values


def _culprit(expected: dict[str, Any], named: dict[str, set[str]]) -> bool:
    places = [place for place in PLACES if expected.get(place) is not None]
    if not expected["identifiable_from_log"]:
        places = []
    elif not places and expected.get("local_rank") is not None:
        return named["local_rank"] == _wanted(expected, "local_rank") and not named["rank"]
    if not places:
        return not any(named[place] for place in PLACES)
    return all(named[place] == _wanted(expected, place) for place in places)


def _innocent(expected: dict[str, Any], named: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return whom the answer accuses and should not have; what the right answer leaves open is free."""
    judged = [place for place in PLACES if expected.get(place) is not None]
    if not expected["identifiable_from_log"] or (not judged and expected.get("local_rank") is None):
        return {place: named[place] for place in PLACES}
    return {place: named[place] - _wanted(expected, place) for place in judged}


def _advised(said: Finding | None, keywords: list[str]) -> bool:
    text = " ".join(f"{one.text} {one.command or ''}" for one in said.advice).lower() if said else ""
    return any(keyword in text for keyword in keywords)


def _quoted(said: Finding | None, text: str) -> bool:
    return said is not None and any(text in (line.text or "") for line in said.evidence)


def _breaks(rule: dict[str, Any], category: str | None, named: dict[str, set[str]]) -> bool:
    return all(
        category == value if key == "category" else bool(_wanted(rule, key) & named[key])
        for key, value in rule.items()
    )


def _text(named: dict[str, set[str]]) -> str:
    return ", ".join(f"{place} {'/'.join(sorted(values))}" for place, values in named.items() if values)
