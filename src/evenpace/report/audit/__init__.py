"""An audit as all surfaces show it: the results of checks, and their gaps as findings in one language."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evenpace.checks.running import Result
from evenpace.checks.telling import finding
from evenpace.collect.snapshot import Snapshot
from evenpace.findings import Finding, Outcome, Severity
from evenpace.report.audit.baseline import Baseline
from evenpace.report.audit.naming import fingerprint
from evenpace.report.audit.suppressions import Suppression, Suppressions

_RANK = {severity: rank for rank, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True)
class Audit:
    """Hold an audit: the worst findings first, each with the place of its check in `results` (`of`).

    `prints` are their fingerprints. What does not count: findings that a suppression covers (place in
    `findings` → suppression), and those that the baseline has (`known`, places in `findings`).
    """

    snapshots: tuple[Snapshot, ...]
    results: tuple[Result, ...]
    findings: tuple[Finding, ...]
    of: tuple[int, ...]
    lang: str
    prints: tuple[str, ...] = ()
    suppressions: Suppressions = field(default_factory=Suppressions)
    suppressed: Mapping[int, Suppression] = field(default_factory=dict)
    baseline: Baseline | None = None
    known: frozenset[int] = frozenset()

    def counts(self) -> Mapping[Outcome, int]:
        """Return how many checks had each outcome, all five."""
        found = Counter(result.outcome for result in self.results)
        return {outcome: found[outcome] for outcome in Outcome}

    def counting(self) -> tuple[int, ...]:
        """Return the places of the findings that are neither suppressed nor known."""
        every = range(len(self.findings))
        return tuple(place for place in every if place not in self.suppressed and place not in self.known)

    def unlisted(self, number: int) -> int:
        """Return how many counting gaps of a result are too many to be findings of their own."""
        result = self.results[number]
        if self.suppressions.whole(result.check.id):
            return 0
        known = self.baseline.unlisted.get(result.check.id, 0) if self.baseline else 0
        return max(result.failing - len(result.gaps) - known, 0)

    def failing(self) -> frozenset[int]:
        """Return the places in `results` of the checks with a gap that counts."""
        listed = {self.of[place] for place in self.counting()}
        return frozenset(listed | {number for number in range(len(self.results)) if self.unlisted(number)})


def audit_of(
    snapshots: Sequence[Snapshot],
    results: Sequence[Result],
    lang: str,
    suppressions: Suppressions | None = None,
    baseline: Baseline | None = None,
) -> Audit:
    """Return an audit in `lang`; findings are ordered by severity, then by check."""
    told = [
        (number, finding(result.check, gap, lang), fingerprint(result.check.id, gap))
        for number, result in enumerate(results)
        for gap in result.gaps
    ]
    told.sort(key=lambda one: (_RANK[one[1].severity], one[0]))
    prints = tuple(known_by for _, _, known_by in told)
    decisions = suppressions or Suppressions()
    covered = {
        place: one
        for place, (number, found, _) in enumerate(told)
        if (one := decisions.of(results[number].check.id, found.subject))
    }
    known = frozenset(n for n, one in enumerate(prints) if baseline and one in baseline.found)
    return Audit(
        tuple(snapshots),
        tuple(results),
        tuple(found for _, found, _ in told),
        tuple(number for number, _, _ in told),
        lang,
        prints,
        decisions,
        covered,
        baseline,
        known - covered.keys(),
    )


def render(audit: Audit, form: str) -> Iterator[str]:
    """Yield the audit in a form to be written, in pieces: by `render(audit)` of `formats/<form>.py`."""
    module: Any = importlib.import_module(f"{__name__}.formats.{form}")
    made: Callable[[Audit], Iterator[str]] = module.render
    return made(audit)
