"""Say a diagnosis as a finding, in a language."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TypeVar

from evenpace.diagnose.engine import Diagnosis
from evenpace.diagnose.identity import canonical_gpu
from evenpace.diagnose.model import Identity, Line
from evenpace.findings import Advice, Evidence, Finding, Severity, Subject, Terms
from evenpace.terms import phrases, say
from evenpace.terms.bilingual import fill, fill_command

_T = TypeVar("_T", int, str)
LONGEST = 1200  # characters of a line that are quoted


def finding(diagnosis: Diagnosis, lang: str = "en") -> Finding:
    """Return the finding that says what `diagnosis` holds, in `lang`."""
    signature = diagnosis.signature
    content = signature.content if signature else None
    return Finding(
        fault=diagnosis.fault,
        severity=Severity(diagnosis.severity),
        confidence=round(diagnosis.certainty, 2),
        subject=subject(diagnosis.culprit),
        summary=content.title.say(lang, diagnosis.details) if content else say(_key(diagnosis), lang),
        since=stamp(diagnosis.since),
        victims=tuple(subject(one) for one in diagnosis.victims if not _is_part(one, diagnosis.culprit)),
        evidence=tuple(quotation(line) for line in diagnosis.lines),
        advice=tuple(_advice(diagnosis, lang)),
        missing=tuple(_missing(diagnosis, lang)),
        terms=_terms(diagnosis),
        phrase=f"signature:{signature.id}" if signature else _key(diagnosis),
        details=dict(diagnosis.details),
    )


def _key(diagnosis: Diagnosis) -> str:
    return f"diagnose-{diagnosis.fault}"


def _is_part(one: Identity, culprit: Identity) -> bool:
    """Tell whether `one` is the culprit by all that both are known by, or its host: then it is no victim."""
    known = [
        (_several(mine), _several(theirs))
        for part in ("rank", "local_rank", "host", "gpu")
        if (mine := getattr(one, part)) is not None and (theirs := getattr(culprit, part)) is not None
    ]
    whole = one.rank is None or culprit.rank is not None
    return bool(known) and whole and all(mine <= theirs for mine, theirs in known)


def _several(value: object) -> set[str]:
    return {canonical_gpu(str(each)) for each in (value if isinstance(value, tuple) else (value,))}


def quotation(line: Line) -> Evidence:
    """Return a line as evidence."""
    return Evidence(line.source, line.number, quoted(line.text))


def quoted(text: str) -> str:
    """Return a line as it is quoted: whole, or cut in its middle where it is very long."""
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"


def subject(identity: Identity) -> Subject:
    """Return an identity as the subject of a finding; a process id is its object."""
    parts = (("gpu", identity.gpu), ("rank", identity.rank), ("node", identity.host))
    kind = next(
        (kind for kind, known in parts if known is not None),
        "job" if identity.local_rank is None and identity.pid is None else "rank",
    )
    return Subject(
        kind=kind,
        node=_plain(identity.host),
        rank=_plain(identity.rank),
        local_rank=_plain(identity.local_rank),
        gpu=_plain(identity.gpu),
        object=None if identity.pid is None else f"pid {_joined(identity.pid)}",
    )


def _plain(value: _T | tuple[_T, ...] | None) -> _T | list[_T] | None:
    return list(value) if isinstance(value, tuple) else value


def _joined(value: int | tuple[int, ...]) -> str:
    return str(value) if isinstance(value, int) else ", ".join(str(one) for one in value)


def stamp(time: float | None) -> str | None:
    """Return seconds since the epoch as RFC 3339 in UTC; None for a time that no calendar has."""
    try:
        moment = None if time is None else datetime.fromtimestamp(time, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z") if moment else None


def _advice(diagnosis: Diagnosis, lang: str) -> list[Advice]:
    if diagnosis.signature is None:
        keys = ("advice-first-error", "advice-nccl-debug", "advice-flight-recorder")
        return [Advice(say(key, lang), _command(key)) for key in keys]
    return [
        Advice(
            fill(step.ko if lang == "ko" else step.en, diagnosis.details),
            None if step.command is None else fill_command(step.command, diagnosis.details),
        )
        for step in diagnosis.signature.content.advice
    ]


def _command(key: str) -> str | None:
    sentence = phrases().get(f"{key}-command")
    return sentence["en"] if sentence else None


def _missing(diagnosis: Diagnosis, lang: str) -> list[str]:
    content = diagnosis.signature.content if diagnosis.signature else None
    own = [text.say(lang, diagnosis.details) for text in content.missing] if content else []
    return own + [say(key, lang) for key in diagnosis.missing]


def _terms(diagnosis: Diagnosis) -> Terms:
    if diagnosis.signature is None:
        return Terms(symptom=("job-crash",))
    terms = diagnosis.signature.content.terms
    return Terms(terms.symptom, terms.component, terms.cause, terms.factor)
