"""Say a stored finding in another language, also where a signature is what it was said by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from evenpace.diagnose.signature import Signature, signatures
from evenpace.findings import Finding
from evenpace.terms import say
from evenpace.terms.bilingual import Text, fill
from evenpace.terms.retell import retell

PREFIX = "signature:"


def sentence(finding: Finding, lang: str) -> str:
    """Say the summary in `lang`; as it is where neither a phrase nor a signature said it."""
    if (finding.phrase or "").startswith(PREFIX) and (signature := _signature(finding)):
        return signature.content.title.say(lang, _details(finding))
    return finding.sentence(lang)


def named(finding: Finding, lang: str) -> str:
    """Say the summary in `lang` with whom it accuses, which the title of a signature need not say."""
    told, subject = sentence(finding, lang), finding.subject
    if not (finding.phrase or "").startswith(PREFIX) or not finding.names_culprit:
        return told
    parts = (("rank", subject.rank), ("GPU", subject.gpu))
    part = ", ".join(f"{name} {_listed(value)}" for name, value in parts if value is not None)
    node = _listed(subject.node) if subject.node is not None else ""
    who = say("report-on-node", lang, part=part, node=node) if part and node else part or node
    return f"{who}: {told}" if who else told


def _listed(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def retold(finding: Finding, lang: str) -> Finding:
    """Return the finding with summary, advice and what is missing in `lang`."""
    known = dict(_texts(finding, lang))
    return replace(
        finding,
        summary=sentence(finding, lang),
        advice=tuple(
            replace(one, text=known.get(one.text) or retell(one.text, lang)) for one in finding.advice
        ),
        missing=tuple(known.get(text) or retell(text, lang) for text in finding.missing),
    )


def _texts(finding: Finding, lang: str) -> Iterator[tuple[str, str]]:
    """Yield what the finding's signature says, in either language, with the same in `lang`."""
    signature = _signature(finding)
    if signature is None:
        return
    details = _details(finding)
    steps = (Text(step.en, step.ko) for step in signature.content.advice)
    for text in (*steps, *signature.content.missing):
        told = text.say(lang, details)
        yield fill(text.en, details), told
        yield fill(text.ko, details), told


def _signature(finding: Finding) -> Signature | None:
    """Return the signature that the finding was said by, or took advice from: then a detail names it."""
    phrase = finding.phrase or ""
    name = phrase.removeprefix(PREFIX) if phrase.startswith(PREFIX) else finding.details.get("signature")
    return signatures().get(str(name)) if name else None


def _details(finding: Finding) -> dict[str, str]:
    return {name: str(value) for name, value in finding.details.items()}
