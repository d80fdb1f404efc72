"""The answer as Markdown, for an issue or a chat; what logs hold cannot become a heading, a link or HTML."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.findings import Evidence, Finding
from evenpace.library.export import inline
from evenpace.report.answer import Answer
from evenpace.report.answer.text import closing
from evenpace.report.view import Card, card_of
from evenpace.report.words import clean, evidence
from evenpace.terms import say


def to_markdown(answer: Answer) -> str:
    """Return the answer as Markdown."""
    parts = [text for finding in answer.findings for text in _finding(finding, answer.lang)]
    if not answer.findings:
        parts.append(say("answer-nothing", answer.lang) + "\n")
    if answer.unusual:
        proof = "\n".join(evidence(item, answer.lang) for item in answer.unusual)
        parts += [say("answer-unusual", answer.lang) + "\n", fenced(proof)]
    parts += [inline(text) + "\n" for text in closing(answer)]
    return "\n".join(parts)


def _finding(finding: Finding, lang: str) -> Iterator[str]:
    card = card_of(finding, lang)
    yield f"## {inline(card.who)}: {inline(card.fault)}\n"
    yield f"{inline(card.sentence)}\n"
    yield f"**{say('report-confidence', lang)}**: {card.confidence}\n"
    if card.victims:
        yield f"**{say('report-victims', lang)}**: {inline(card.victims)}\n"
    yield from _sections(card, finding.evidence, lang)


def _sections(card: Card, proof: tuple[Evidence, ...], lang: str) -> Iterator[str]:
    if proof:
        yield f"**{say('report-evidence', lang)}**\n"
        yield fenced("\n".join(evidence(item, lang) for item in proof))
    if card.advice:
        yield f"**{say('report-advice', lang)}**\n"
        for number, (text, command) in enumerate(card.advice, 1):
            yield f"{number}. {inline(text)}\n" + (f"\n{fenced(command)}" if command else "")
    for title, texts in (
        ("report-missing", card.missing),
        ("report-incidents", [f"{id_}: {why}" for id_, why in card.incidents]),
    ):
        if texts:
            yield f"**{say(title, lang)}**\n"
            yield "\n".join(f"- {inline(text)}" for text in texts) + "\n"


def fenced(text: str) -> str:
    """Return text as a block of code that it cannot end."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}text\n{clean(text)}\n{fence}\n"


def _longest_run(text: str) -> int:
    longest = run = 0
    for letter in text:
        run = run + 1 if letter == "`" else 0
        longest = max(longest, run)
    return longest
