"""The answer as Markdown, for an issue or a chat.

What logs hold cannot become a heading, a link, a picture or HTML, nor call somebody or another issue.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from evenpace.findings import Evidence, Finding
from evenpace.report.answer import Answer, card
from evenpace.report.answer.text import closing
from evenpace.report.view import Card
from evenpace.report.words import evidence
from evenpace.terms import say
from evenpace.terms.spelling import clean

# Words that code hosts make links of by themselves: @people, #issues, addresses.
_LINKS = re.compile(r"@|#\d|://|www\.|\b(?:GH|gh)-\d|mailto:")
_CODE = re.compile(r"(`[^`]+`)")
_SPECIAL = re.compile(r"[\\`*_\[\]<>~|&$]")
_START = re.compile(r"^([0-9]{0,9})([-+=#]|(?<=[0-9])[.)](?=\s|$))")  # a heading, a list, a line of dashes
_QUOTE = "'"
_LIST = "   "  # so far a command stands in, to be part of its step


def to_markdown(answer: Answer) -> str:
    """Return the answer as Markdown."""
    parts = [text for finding in answer.findings for text in _finding(finding, answer.lang)]
    if not answer.findings:
        parts.append(say("answer-nothing", answer.lang) + "\n")
    if answer.unusual:
        proof = "\n".join(evidence(item, answer.lang) for item in answer.unusual)
        parts += [say("answer-unusual", answer.lang) + "\n", fenced(proof)]
    parts += [harmless(text) + "\n" for text in closing(answer)]
    return "\n".join(parts)


def _finding(finding: Finding, lang: str) -> Iterator[str]:
    shown = card(finding, lang)
    yield f"## {harmless(shown.who)}: {harmless(shown.fault)}\n"
    yield f"{harmless(shown.sentence)}\n"
    facts = [("report-confidence", shown.confidence), ("report-when", shown.when)]
    yield " · ".join(f"{say(key, lang)} {value}" for key, value in facts if value) + "\n"
    yield from _advice(shown, lang)
    yield from _proof(finding.evidence, lang)
    yield from _rest(shown, lang)


def _advice(shown: Card, lang: str) -> Iterator[str]:
    if shown.advice:
        yield f"**{say('answer-advice', lang)}**\n"
    for number, (text, command) in enumerate(shown.advice, 1):
        block = f"\n{fenced(command, 'sh', _LIST)}" if command else ""
        yield f"{number}. {harmless(text)}\n{block}"


def _proof(proof: tuple[Evidence, ...], lang: str) -> Iterator[str]:
    if proof:
        yield f"**{say('report-evidence', lang)}**\n"
        yield fenced("\n".join(evidence(item, lang) for item in proof))


def _rest(shown: Card, lang: str) -> Iterator[str]:
    for key, texts in (
        ("report-victims", [shown.victims] if shown.victims else []),
        ("report-missing", shown.missing),
        ("report-incidents", [f"{id_}: {why}" for id_, why in shown.incidents]),
    ):
        if texts:
            yield f"**{say(key, lang)}**\n"
            yield "\n".join(f"- {harmless(text)}" for text in texts) + "\n"


def harmless(text: str) -> str:
    """Return text on one line with no markup but `code`; a word that would become a link is code."""
    said = ""
    for number, part in enumerate(_CODE.split(" ".join(clean(text).split()))):
        for word in [part] if number % 2 else re.split("( )", part):
            shown = word if number % 2 else _word(word)
            apart = " " if said.endswith("`") and shown.startswith("`") else ""
            said += apart + shown
    return _START.sub(r"\1\\\2", said)


def _word(word: str) -> str:
    if _LINKS.search(word):
        return f"`{word.replace('`', _QUOTE)}`"
    return _SPECIAL.sub(r"\\\g<0>", word)


def fenced(text: str, language: str = "text", indent: str = "") -> str:
    """Return text as a block of code that it cannot end."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return "".join(f"{indent}{row}\n" for row in (fence + language, *clean(text).split("\n"), fence))


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
