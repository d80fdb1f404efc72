"""What a check answers, subject by subject: a gap, fine, or that it cannot tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from evenpace.findings import Evidence, Subject

Details = dict[str, str | int | float]  # fill the texts of check.toml


@dataclass(frozen=True, slots=True)
class Gap:
    """Say that a subject has the gap; `details` fill the texts of check.toml, `since` is RFC 3339.

    `known_by` is by what it is the same gap from audit to audit, where that is not the subject: nodes that
    share one come and go.
    """

    subject: Subject
    evidence: tuple[Evidence, ...] = ()
    details: Mapping[str, str | int | float] = field(default_factory=dict)
    since: str | None = None
    known_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unsure:
    """Say that what was read of a subject does not decide; `details` fill `unsure` of check.toml."""

    subject: Subject
    details: Mapping[str, str | int | float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fine:
    """Say that a subject was looked at and does not have the gap."""


FINE = Fine()
Answer = Gap | Unsure | Fine
