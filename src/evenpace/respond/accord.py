"""Put what the node logs say into the finding of a crash, where both can be true.

The tap saw the processes themselves: whom it accuses stays accused, and whoever else the logs accuse is only
quoted. Where both agree, or only one of them names anybody, the logs tell the cause and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from evenpace.diagnose.engine import Diagnosis, diagnose
from evenpace.diagnose.model import Case
from evenpace.diagnose.telling import finding as told
from evenpace.findings import Finding, Subject, Terms, several
from evenpace.respond.nodelogs import exceptions, recorded_rank
from evenpace.respond.placing import Crew, Place, place, subject_at
from evenpace.respond.policy import SLOW, SURE

GENERIC = frozenset({"collective-desync", "node-lost", "user-code-exception", "worker-killed"})
UNEXPLAINED = "unexplained-failure"
WATCHED = frozenset({"communication-hang", "non-communication-hang"})  # the tap sees these better than a log
PROVEN = frozenset({"gpu-hardware", "nvlink"})  # faults that a log alone proves
KILLING = frozenset({*PROVEN, "container-runtime", "gpu-driver", "oom-host", "preempted-or-timelimit", "shm"})
USUAL, POSSIBLE, CERTAIN = 0.7, 0.5, 0.9  # certainty: of a better cause, of any cause, of proof
HEARSAY = SURE - 0.05  # the most that a log alone is believed about who, unless it proves the fault
MOST_DIAGNOSES = 4
MOST_LINES, FEW_LINES = 10, 4  # quoted where the logs explain it, and where they only confirm or differ
SHORTEST = 12  # characters of a line that says something by itself
_HEADLINE = 200  # characters of an exception by which it is found in a log


@dataclass(frozen=True, slots=True)
class Heard:
    """One diagnosis of the logs, and whom it accuses."""

    said: Diagnosis
    where: Place


def completed(finding: Finding, case: Case, crew: Crew) -> Finding:
    """Return the finding with what the logs of its incarnation add to it."""
    heard = [Heard(one, place(one, case, crew)) for one in diagnose(case)[:MOST_DIAGNOSES]]
    agreeing = [one for one in heard if _agrees(one, finding) and _is_about(one.said, one.where, finding)]
    differing = [one.said for one in heard if one not in agreeing and _is_worth_quoting(one.said, finding)]
    told = _from_agreeing(finding, agreeing, crew)
    return _with_evidence(told, differing[0], FEW_LINES) if differing else told


def _from_agreeing(finding: Finding, agreeing: Sequence[Heard], crew: Crew) -> Finding:
    for one in agreeing:
        if _is_better(one.said, finding):
            return _explained(finding, one, crew)
    for one in agreeing:
        if one.said.signature and one.said.fault == finding.fault:
            return _advised(finding, one.said)
    quoted = [one.said for one in agreeing if _is_worth_quoting(one.said, finding)]
    return _with_evidence(finding, quoted[0], FEW_LINES) if quoted else finding


# --- whether both speak of the same ---


def _agrees(one: Heard, finding: Finding) -> bool:
    return not (one.where and finding.names_culprit) or one.where.within(finding.subject)


def _is_about(said: Diagnosis, where: Place, finding: Finding) -> bool:
    """Tell whether a diagnosis can be why these workers ended as the tap saw them end."""
    if said.fault in PROVEN and said.certainty >= CERTAIN:
        return True
    if recorded := exceptions(finding):
        own = where.ranks and where.ranks <= frozenset(several(finding.subject.rank))
        return bool(own) or _quotes(said, list(recorded.values()))
    return said.fault in KILLING or not _ended_from_outside(finding)


def _quotes(said: Diagnosis, recorded: Sequence[str]) -> bool:
    heads = [text.partition("\n")[0][:_HEADLINE] for text in recorded]
    return any(
        recorded_rank(line.source) is not None or any(head and head in line.text for head in heads)
        for line in said.lines
    )


def _ended_from_outside(finding: Finding) -> bool:
    """Tell whether something else ended the process: not its own exception, abort or exit."""
    return finding.phrase in ("crash-gone", "node-lost") or finding.details.get("signal") == "SIGKILL"


def _is_better(said: Diagnosis, finding: Finding) -> bool:
    """Tell whether a diagnosis says more than the tap could."""
    if said.signature is None or said.signature.role != "cause" or said.severity != "critical":
        return False
    if said.fault in SLOW | {UNEXPLAINED, "not-a-failure"}:
        return False
    if finding.fault == UNEXPLAINED:
        return said.certainty >= POSSIBLE
    return said.fault not in GENERIC | WATCHED and said.certainty >= USUAL


def _is_worth_quoting(said: Diagnosis, finding: Finding) -> bool:
    if said.signature is None:
        return finding.fault == UNEXPLAINED
    return said.signature.role == "cause" and said.certainty >= POSSIBLE and said.fault != "not-a-failure"


# --- what becomes of the finding ---


def _explained(finding: Finding, one: Heard, crew: Crew) -> Finding:
    """Let the logs tell the cause; the tap's own lines and advice follow."""
    subject, confidence = _blamed(finding, one, crew)
    details = _details(finding, one.said, subject)
    said = told(replace(one.said, details=_plain(details), missing=()))
    return replace(
        _with_evidence(finding, one.said, MOST_LINES),
        fault=said.fault,
        confidence=round(confidence, 2),
        subject=subject,
        summary=said.summary,
        victims=tuple(victim for victim in finding.victims if not _is_part(victim, subject)),
        advice=tuple(dict.fromkeys((*said.advice, *finding.advice))),
        missing=said.missing,
        terms=_together(said.terms, finding.terms),
        phrase=said.phrase,
        details=details,
    )


def _advised(finding: Finding, diagnosis: Diagnosis) -> Finding:
    """Keep what the tap says of a fault that the logs show too, and add what the logs advise."""
    assert diagnosis.signature is not None  # noqa: S101 - for the types
    details = _details(finding, diagnosis, finding.subject) | finding.details
    details["signature"] = diagnosis.signature.id
    said = told(replace(diagnosis, details=_plain(details)))
    return replace(
        _with_evidence(finding, diagnosis, FEW_LINES),
        advice=tuple(dict.fromkeys((*said.advice, *finding.advice))),
        terms=_together(said.terms, finding.terms),
        details=details,
    )


def _with_evidence(finding: Finding, said: Diagnosis, most: int) -> Finding:
    """Add the lines of the logs, each once, behind what the tap saw: that is of the accused for certain."""
    known = {(item.source, item.text) for item in finding.evidence}
    lines = [
        item
        for item in told(said).evidence
        if recorded_rank(item.source) is None and len(item.text or "") >= SHORTEST
    ]
    new = [item for item in lines if (item.source, item.text) not in known][:most]
    return replace(finding, evidence=(*finding.evidence, *new))


def _blamed(finding: Finding, one: Heard, crew: Crew) -> tuple[Subject, float]:
    """Return whom the finding then accuses, and how sure it is: never surer than whoever says it."""
    certainty = one.said.certainty
    if finding.names_culprit:
        gpus = several(one.said.culprit.gpu)
        gpu = finding.subject.gpu or (gpus[0] if len(gpus) == 1 else list(gpus) or None)
        return replace(finding.subject, gpu=gpu), min(finding.confidence, certainty)
    if not one.where:
        return finding.subject, certainty
    sure = certainty if one.said.fault in PROVEN else min(certainty, HEARSAY)
    return subject_at(one.where, one.said.culprit, crew), sure


def _is_part(victim: Subject, subject: Subject) -> bool:
    ranks = frozenset(several(victim.rank))
    return bool(ranks) and ranks <= frozenset(several(subject.rank))


def _details(finding: Finding, said: Diagnosis, subject: Subject) -> dict[str, str | int | float]:
    """Return the values of both, with what the logs lack of whoever is accused."""
    where = {"host": subject.node, "rank": subject.rank, "local_rank": subject.local_rank, "gpu": subject.gpu}
    known = {name: ",".join(map(str, several(value))) for name, value in where.items() if value is not None}
    return {**finding.details, **known, **said.details}


def _plain(details: dict[str, str | int | float]) -> dict[str, str]:
    return {name: str(value) for name, value in details.items()}


def _together(one: Terms, other: Terms) -> Terms:
    return Terms(
        *(
            tuple(dict.fromkeys((*getattr(one, facet), *getattr(other, facet))))
            for facet in ("symptom", "component", "cause", "factor")
        )
    )
