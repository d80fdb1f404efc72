"""First cause before consequence: which claims stand for themselves, and which only follow from them.

Not the first line and not the loudest: a cause explains every consequence, and those other causes that its
signature says follow from it. What remains unexplained is the answer; several are several findings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evenpace.diagnose.claims import Claim
from evenpace.diagnose.model import Identity
from evenpace.diagnose.signature import BREAKING, UNEXPLAINED

SKEW_S = 120.0  # clocks of two hosts may differ by this much
OLD_S = 6 * 3600.0  # what was last seen so long before the latest trouble is not its cause
WORTH_TELLING = 0.5  # certainty from which a further independent claim is told
# What the process on a broken part says of it: its rank is that of the part.
FELT = "felt"
_SEVERITY = {"critical": 2, "warning": 1, "info": 0}


@dataclass(slots=True)
class Verdict:
    """Hold the claims that answer, the first one first, and the consequences that nothing explains.

    `older` are causes of an earlier trouble: told after the answer, never as the answer.
    """

    answers: list[Claim] = field(default_factory=list)
    consequences: list[Claim] = field(default_factory=list)
    older: list[Claim] = field(default_factory=list)


def attribute(claims: Sequence[Claim], ends: Mapping[str, float] | None = None) -> Verdict:
    """Decide which claims are causes. `ends` is when each log ends, as far as its lines say."""
    older = _older(claims, ends or {})
    verdict = _attributed([claim for claim in claims if claim not in older])
    verdict.older = _merged(sorted((one for one in older if one.certainty >= WORTH_TELLING), key=_worth))
    return verdict


def _older(claims: Sequence[Claim], ends: Mapping[str, float]) -> list[Claim]:
    """Return the causes that were over long before the latest trouble that the logs date.

    Trouble without a time, such as a traceback, is as late as the end of its log.
    """
    troubles = [claim for claim in claims if claim.signature.role in ("cause", "consequence")]
    times = [one for claim in troubles for one in (claim.last, _end(claim, ends)) if one is not None]
    if not times:
        return []
    latest = max(times)
    causes = [claim for claim in troubles if claim.signature.role == "cause"]
    return [claim for claim in causes if claim.last is not None and claim.last < latest - OLD_S]


def _end(claim: Claim, ends: Mapping[str, float]) -> float | None:
    undated = [ends[line.source] for line in claim.lines if line.time is None and line.source in ends]
    return max(undated, default=None) if claim.last is None else None


def _attributed(claims: Sequence[Claim]) -> Verdict:
    causes = [claim for claim in claims if claim.signature.role == "cause"]
    hints = [claim for claim in claims if claim.signature.role == "hint"]
    consequences = [claim for claim in claims if claim.signature.role == "consequence"]
    roots = _roots(causes)
    if roots and not _outdone(roots, hints):
        answers = _merged(sorted(roots, key=_worth))
        _explain(answers[0], [*hints, *consequences])
        _adopt(answers[0])
        return Verdict([answers[0], *(claim for claim in answers[1:] if claim.certainty >= WORTH_TELLING)])
    if hints:
        best = _merged(sorted([*_roots(hints), *roots], key=_worth))
        _explain(best[0], consequences)
        return Verdict(best)
    telling = sorted((one for one in consequences if one.signature.fault != UNEXPLAINED), key=_worth)
    if telling:
        _explain(telling[0], [one for one in consequences if one is not telling[0]])
        return Verdict([telling[0]])
    return Verdict([], list(consequences))


def _outdone(roots: Sequence[Claim], hints: Sequence[Claim]) -> bool:
    """Tell whether a process that says itself why it ended is known beside causes that are mere suspicion."""
    surest = max(root.certainty for root in roots)
    own = [hint for hint in hints if hint.signature.fault in BREAKING and hint.certainty > surest]
    return surest < WORTH_TELLING and bool(own)


def _roots(claims: Sequence[Claim]) -> list[Claim]:
    """Return the claims that no other one explains; the explained hang on what explains them."""
    roots = []
    for claim in claims:
        reasons = [one for one in claims if _explains(one, claim)]
        standing = [one for one in reasons if not _explains(claim, one) or _worth(one) < _worth(claim)]
        if standing:
            min(standing, key=_worth).explained.append(claim)
        else:
            roots.append(claim)
    return roots or list(claims)


def _explains(one: Claim, other: Claim) -> bool:
    if not one.signature.explains(other.signature):
        return False
    if one.since is None or other.since is None:
        return True
    return one.since <= other.since + SKEW_S


def _worth(claim: Claim) -> tuple[float, ...]:
    """Return a key that puts the best answer first: the surest, the gravest, the earliest."""
    since = claim.since if claim.since is not None else float("inf")
    return (-claim.certainty, -_SEVERITY[claim.signature.content.severity], since)


def _merged(claims: list[Claim]) -> list[Claim]:
    """Put claims of one fault about one host, or about the same part, together: two bad GPUs, one answer."""
    kept: list[Claim] = []
    for claim in claims:
        partner = next((one for one in kept if _same_matter(one, claim)), None)
        if partner is None:
            kept.append(claim)
            continue
        partner.culprit = _together(partner.culprit, claim.culprit)
        partner.explained.append(claim)
    return kept


def _same_matter(one: Claim, other: Claim) -> bool:
    if one.signature.fault != other.signature.fault:
        return False
    if not one.culprit or not other.culprit:
        return True
    if one.culprit.host != other.culprit.host and None not in (one.culprit.host, other.culprit.host):
        return False
    return bool(one.culprit.gpu and other.culprit.gpu) or one.culprit.rank == other.culprit.rank


def _together(one: Identity, other: Identity) -> Identity:
    if not one or not other:
        return one or other
    gpus = dict.fromkeys((*_several(one.gpu), *_several(other.gpu)))
    whole = one.or_else(other) if one.rank is None and one.pid is None else one
    if len(gpus) < 2:
        return whole
    return Identity(host=one.host or other.host, gpu=tuple(gpus))


def _several(value: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return () if value is None else (value,) if isinstance(value, str) else value


def _explain(answer: Claim, others: Sequence[Claim]) -> None:
    """Hang what follows from the answer on it."""
    for other in others:
        answer.explained.append(other)
        answer.victims += [
            victim
            for victim in (other.culprit, *other.victims)
            if victim and victim.or_else(answer.culprit) != answer.culprit
        ]


def _adopt(answer: Claim) -> None:
    """Take over the rank of the only process that felt what the answer says about a GPU or a host."""
    if answer.culprit.rank is not None:
        return
    if not (answer.culprit.gpu or answer.culprit.host or answer.signature.fault == "oom-host"):
        return
    felt = [
        who
        for one in answer.explained
        if FELT in one.signature.content.tags
        for who in (one.culprit, *one.victims)
        if who.rank is not None and (answer.culprit.host is None or who.host in (None, answer.culprit.host))
    ]
    if len({who.rank for who in felt}) == 1:
        answer.culprit = answer.culprit.or_else(Identity(rank=felt[0].rank, host=felt[0].host))
        answer.victims = [who for who in answer.victims if who.rank != felt[0].rank]
