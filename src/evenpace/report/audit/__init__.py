"""An audit as all surfaces show it: the results of checks, and their gaps as findings in one language."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenpace.checks.running import Result
from evenpace.checks.telling import finding
from evenpace.collect.snapshot import Snapshot
from evenpace.findings import Finding, Outcome, Severity

_RANK = {severity: rank for rank, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True)
class Audit:
    """Hold an audit: the worst findings first, each with the place of its check in `results` (`of`)."""

    snapshots: tuple[Snapshot, ...]
    results: tuple[Result, ...]
    findings: tuple[Finding, ...]
    of: tuple[int, ...]
    lang: str

    def counts(self) -> Mapping[Outcome, int]:
        """Return how many checks had each outcome, all five."""
        found = Counter(result.outcome for result in self.results)
        return {outcome: found[outcome] for outcome in Outcome}


def audit_of(snapshots: Sequence[Snapshot], results: Sequence[Result], lang: str) -> Audit:
    """Return an audit in `lang`; findings are ordered by severity, then by check."""
    told = [
        (number, finding(result.check, gap, lang))
        for number, result in enumerate(results)
        for gap in result.gaps
    ]
    told.sort(key=lambda pair: (_RANK[pair[1].severity], pair[0]))
    found, of = tuple(one for _, one in told), tuple(number for number, _ in told)
    return Audit(tuple(snapshots), tuple(results), found, of, lang)


def render(audit: Audit, form: str) -> str:
    """Return the audit in a form to be written: by `render(audit)` of `formats/<form>.py`."""
    module: Any = importlib.import_module(f"{__name__}.formats.{form}")
    made: Callable[[Audit], str] = module.render
    return made(audit)
