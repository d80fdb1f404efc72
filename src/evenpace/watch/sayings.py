"""Make findings: the English summary, and phrase and details to say it in another language."""

from __future__ import annotations

from collections.abc import Iterable

from evenpace.findings import Advice, Evidence, Finding, Severity, Subject, Terms
from evenpace.terms import say
from evenpace.watch.worker import WorkerId

Details = dict[str, str | int | float]


def make(  # noqa: PLR0913 - one argument for each part of a finding
    fault: str,
    phrase: str,
    details: Details,
    *,
    culprits: Iterable[WorkerId] = (),
    victims: Iterable[WorkerId] = (),
    confidence: float,
    since: str,
    severity: Severity = Severity.CRITICAL,
    evidence: Iterable[Evidence] = (),
    advice: Iterable[Advice | str] = (),
    missing: Iterable[str] = (),
    terms: Terms = Terms(),  # noqa: B008 - frozen
) -> Finding:
    """Build a finding; `advice` and `missing` are keys of phrases (or ready advice)."""
    return Finding(
        fault=fault,
        severity=severity,
        confidence=confidence,
        subject=subject(list(culprits)),
        summary=say(phrase, "en", **details),
        since=since,
        victims=tuple(subject([victim]) for victim in victims),
        evidence=tuple(evidence),
        advice=tuple(_advice(item, details) for item in advice),
        missing=tuple(say(key, "en", **details) for key in missing),
        terms=terms,
        phrase=phrase,
        details=details,
    )


def _advice(item: Advice | str, details: Details) -> Advice:
    return item if isinstance(item, Advice) else Advice(say(item, "en", **details))


def subject(workers: list[WorkerId]) -> Subject:
    """Name one worker, several, or (with none) the job as a whole."""
    if not workers:
        return Subject(kind="job")
    if len(workers) == 1:
        worker = workers[0]
        return Subject(kind="rank", node=worker.node, rank=worker.rank, local_rank=worker.local_rank)
    nodes = sorted({worker.node for worker in workers})
    return Subject(
        kind="node" if len(nodes) == 1 else "rank",
        node=nodes[0] if len(nodes) == 1 else nodes,
        rank=[worker.rank for worker in workers],
        local_rank=[worker.local_rank for worker in workers],
    )
