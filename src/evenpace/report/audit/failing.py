"""When an audit fails: from which severity on a gap counts, and whether an undecided check does."""

from __future__ import annotations

from evenpace.findings import Outcome, Severity
from evenpace.report.audit import Audit

UNDECIDED = (Outcome.NO_DATA, Outcome.ERROR)


def fails(audit: Audit, threshold: str) -> bool:
    """Tell whether an audit fails at `threshold`.

    A severity takes in those that are worse. `undecided` is any gap, and any check that could not be decided;
    at `never` no audit fails.
    """
    if threshold == "never":
        return False
    if threshold == "undecided":
        return bool(audit.failing()) or any(result.outcome in UNDECIDED for result in audit.results)
    order = list(Severity)
    worst = min((order.index(audit.results[n].check.content.severity) for n in audit.failing()), default=None)
    return worst is not None and worst <= order.index(Severity(threshold))
