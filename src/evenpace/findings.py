"""The finding: what every judge of evenpace says, and what every surface shows.

The JSON form (`to_json`) is a contract: schema 1, additions only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

import msgspec

from evenpace.terms import phrases, say
from evenpace.terms.retell import retell

SCHEMA = 1
_T = TypeVar("_T")


class Severity(StrEnum):
    """How much a finding matters to the run."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


class Outcome(StrEnum):
    """What a check can answer: five outcomes, never two."""

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    NOT_APPLICABLE = "not-applicable"
    NO_DATA = "no-data"
    ERROR = "error"


def several(value: _T | list[_T] | tuple[_T, ...] | None) -> tuple[_T, ...]:
    """Return a value, several, or None as a tuple."""
    if value is None:
        return ()
    return tuple(value) if isinstance(value, list | tuple) else (value,)


@dataclass(frozen=True, slots=True)
class Subject:
    """Name what a finding is about; a field is a value, a list, or None where not known."""

    kind: str
    job: str | None = None
    node: str | list[str] | None = None
    rank: int | list[int] | None = None
    local_rank: int | list[int] | None = None
    gpu: str | list[str] | None = None
    link: str | list[str] | None = None
    object: str | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """Carry one raw line (`line`, `text`) or one number (`metric`, `value`, `expected`) with its source."""

    source: str
    line: int | None = None
    text: str | None = None
    metric: str | None = None
    value: float | str | None = None
    expected: float | str | None = None


@dataclass(frozen=True, slots=True)
class Advice:
    """Say what to do next, with the exact command where there is one."""

    text: str
    command: str | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """Link a finding to incidents: slugs of the vocabulary, by facet."""

    symptom: tuple[str, ...] = ()
    component: tuple[str, ...] = ()
    cause: tuple[str, ...] = ()
    factor: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IncidentLink:
    """Point to a public incident that looked the same, with the reason."""

    id: str
    why: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Say what is wrong, with whom, how sure, since when, and why.

    `fault` is a term; `confidence` is 0 to 1; `since` is RFC 3339 in UTC. `phrase` and `details` name the
    sentence and its values, so that `summary` can be said again in another language.
    """

    fault: str
    severity: Severity
    confidence: float
    subject: Subject
    summary: str
    since: str | None = None
    victims: tuple[Subject, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    advice: tuple[Advice, ...] = ()
    missing: tuple[str, ...] = ()
    terms: Terms = Terms()
    incidents: tuple[IncidentLink, ...] = ()
    phrase: str | None = None
    details: dict[str, str | int | float] = field(default_factory=dict)

    @property
    def names_culprit(self) -> bool:
        """Tell whether the finding accuses a node, a rank or a GPU."""
        subject = self.subject
        return any(part is not None for part in (subject.node, subject.rank, subject.gpu, subject.link))

    def sentence(self, lang: str) -> str:
        """Say the summary in `lang`; as it is where its phrase is not known."""
        if self.phrase is None or self.phrase not in phrases():
            return self.summary
        details = {
            name: retell(value, lang) if isinstance(value, str) else value
            for name, value in self.details.items()
            if name not in ("key", "lang")
        }
        return say(self.phrase, lang, **details)


def to_builtins(findings: Iterable[Finding]) -> dict[str, Any]:
    """Return the contract's envelope as plain dictionaries and lists."""
    return {"schema": SCHEMA, "findings": msgspec.to_builtins(list(findings))}


def to_json(findings: Iterable[Finding]) -> bytes:
    """Encode findings as `{"schema": 1, "findings": [...]}`."""
    return msgspec.json.encode(to_builtins(findings))
