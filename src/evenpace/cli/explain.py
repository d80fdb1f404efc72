"""Explain a cryptic line of a log, an Xid, a NCCL or CUDA error, an exit code or a signal."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from evenpace.errors import Problem
from evenpace.terms import LANGUAGES

if TYPE_CHECKING:
    from evenpace.diagnose.explain import Answer, Meaning
    from evenpace.findings import IncidentLink

_MOST_INPUT = 1 << 20  # bytes
_QUALIFIER = re.compile(r"(?i)s?xid|signal|exit|exit ?code|code|errno|cuda|nccl|error|status|vendor|err")
_NUMBER = re.compile(r"-?\d{1,5}")


@click.command("explain", context_settings={"ignore_unknown_options": True})
@click.argument("questions", nargs=-1, metavar="LINE...")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="Form of the output."
)
@click.option("--lang", type=click.Choice(LANGUAGES), default="en", help="Language of the output.")
def command(questions: tuple[str, ...], form: str, lang: str) -> int:
    """Explain each LINE: a line of a log, or a code. `-` reads lines of one log from standard input.

    \b
        evenpace explain "Xid 79"
        evenpace explain ncclSystemError 137 -9
        dmesg | grep NVRM | evenpace explain -

    Exit code 0 where all of them are known, 1 where one is not.
    """
    from evenpace.cli._library.output import put_json
    from evenpace.diagnose.explain import explain

    answers = [explain(question) for question in _asked(questions)]
    if form == "json":
        put_json({"questions": [_as_json(answer, lang) for answer in answers]})
    else:
        _print(answers, lang)
    return 0 if all(answer.meanings for answer in answers) else 1


def _asked(words: Sequence[str]) -> list[str]:
    """Return the questions: `Xid 79` is one even where the shell made two words of it; raises Problem."""
    if unknown := [word for word in words if word.startswith("--")]:
        raise click.UsageError(f"No such option: {unknown[0]}")
    found = [_input() if question == "-" else question for question in _joined(words)]
    if not found or any(not question.strip() for question in found):
        raise Problem('nothing to explain; give a line or a code, such as evenpace explain "Xid 79"')
    return found


def _joined(words: Iterable[str]) -> list[str]:
    found: list[str] = []
    waiting: list[str] = []
    for word in words:
        waiting.append(word)
        if not _QUALIFIER.fullmatch(word):
            found += [" ".join(waiting)] if _NUMBER.fullmatch(word) else waiting
            waiting = []
    return found + waiting


def _input() -> str:
    if sys.stdin is None:
        raise Problem("standard input is closed; give the line as an argument")
    content = sys.stdin.buffer.read(_MOST_INPUT + 1)
    if len(content) > _MOST_INPUT:
        raise Problem("that is more than 1 MB; give only the lines in question")
    if b"\0" in content:
        raise Problem("standard input is not text")
    return content.decode("utf-8", "replace")


def _print(answers: Sequence[Answer], lang: str) -> None:
    from rich.console import Group, RenderableType
    from rich.text import Text

    from evenpace.report.output import terminal
    from evenpace.terms import say
    from evenpace.terms.spelling import line

    console = terminal()
    for answer in answers:
        parts: list[RenderableType] = []
        if len(answers) > 1:
            parts.append(Text(f"» {line(answer.question.strip())}", style="dim"))
        parts += [_meaning(meaning, lang) for meaning in answer.meanings]
        if len(answer.meanings) > 1:
            parts.insert(len(parts) - len(answer.meanings), Text(say("explain-several", lang), style="dim"))
        parts += [] if answer.meanings else [_unknown(answer, lang)]
        parts += _incidents(answer, lang)
        console.print(Group(*parts))


def _meaning(meaning: Meaning, lang: str) -> Any:
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    from evenpace.report.text import pairs
    from evenpace.terms.spelling import clean, line

    head = Text(line(meaning.title.say(lang, meaning.details)), style="bold")
    rows = [(label, clean(value)) for label, value in _rows(meaning, lang) if value]
    return Group(head, Padding(pairs(rows), (0, 0, 1, 2)))


def _rows(meaning: Meaning, lang: str) -> Iterator[tuple[str, str]]:
    from evenpace.report.words import fault
    from evenpace.terms import say
    from evenpace.terms.spelling import percent

    standing = say(f"explain-standing-{meaning.standing}", lang)
    if meaning.certainty is not None:
        standing += say("explain-certainty", lang, percent=percent(meaning.certainty))
    yield say("explain-is", lang), standing if meaning.certain else say("explain-possible", lang)
    yield say("explain-fault", lang), fault(meaning.fault, lang) if meaning.fault else ""
    yield say("explain-means", lang), meaning.text.say(lang, meaning.details) if meaning.text else ""
    yield say("explain-names", lang), _who(meaning)
    yield say("explain-check", lang), "\n".join(_steps(meaning, lang))
    yield say("explain-missing", lang), "\n".join(text.say(lang, meaning.details) for text in meaning.missing)
    yield say("explain-see", lang), "\n".join(meaning.sources[:2])


def _who(meaning: Meaning) -> str:
    from evenpace.report.words import listed

    parts = ((name, getattr(meaning.culprit, name)) for name in ("rank", "local_rank", "host", "gpu", "pid"))
    return ", ".join(
        f"{name.replace('_', ' ')} {listed(value)}" for name, value in parts if value is not None
    )


def _steps(meaning: Meaning, lang: str) -> Iterator[str]:
    from evenpace.terms.bilingual import Text, fill_command

    for step in meaning.steps:
        yield Text(step.en, step.ko).say(lang, meaning.details)
        if step.command:
            yield f"$ {fill_command(step.command, meaning.details)}"


def _unknown(answer: Answer, lang: str) -> Any:
    from rich.console import Group
    from rich.text import Text

    from evenpace.report.text import pairs
    from evenpace.terms import say

    near = [(key, text.say(lang, {})) for key, text in answer.near]
    said = Group(Text(say("explain-unknown", lang), style="bold"), Text(say("explain-unknown-advice", lang)))
    return Group(said, Text(say("explain-near", lang)), pairs(near)) if near else said


def _incidents(answer: Answer, lang: str) -> list[Any]:
    from rich.padding import Padding
    from rich.text import Text

    from evenpace.report.text import pairs
    from evenpace.terms import say
    from evenpace.terms.spelling import line

    links = [(link.id, line(link.why)) for link in _alike(answer, lang)]
    if not links:
        return []
    return [Text(say("explain-incidents", lang)), Padding(pairs(links), (0, 0, 1, 2))]


def _alike(answer: Answer, lang: str) -> tuple[IncidentLink, ...]:
    """Return the public incidents that share the terms of the plainest meaning."""
    from evenpace.findings import Finding, Severity, Subject, Terms
    from evenpace.report.incidents import alike

    meaning = next((one for one in answer.meanings if one.certain and one.standing != "noise"), None)
    if meaning is None:
        return ()
    terms = Terms(*(getattr(meaning.terms, facet) for facet in ("symptom", "component", "cause", "factor")))
    subject = Subject(kind="job")
    fault = meaning.fault or "unexplained-failure"
    return alike(Finding(fault, Severity.WARNING, 0.0, subject, meaning.title.en, terms=terms), lang)


def _as_json(answer: Answer, lang: str) -> dict[str, Any]:
    return {
        "question": answer.question,
        "known": bool(answer.meanings),
        "meanings": [_meaning_json(meaning, lang) for meaning in answer.meanings],
        "near": [{"key": key, "title": text.say(lang, {})} for key, text in answer.near],
        "incidents": [{"id": link.id, "why": link.why} for link in _alike(answer, lang)],
    }


def _meaning_json(meaning: Meaning, lang: str) -> dict[str, Any]:
    import msgspec

    from evenpace.terms.bilingual import Text, fill_command

    return {
        "key": meaning.key,
        "standing": meaning.standing,
        "certain": meaning.certain,
        "title": meaning.title.say(lang, meaning.details),
        "meaning": meaning.text.say(lang, meaning.details) if meaning.text else None,
        "fault": meaning.fault,
        "certainty": meaning.certainty,
        "names": {
            name: value for name, value in msgspec.to_builtins(meaning.culprit).items() if value is not None
        },
        "check": [
            {
                "text": Text(step.en, step.ko).say(lang, meaning.details),
                "command": fill_command(step.command, meaning.details) if step.command else None,
            }
            for step in meaning.steps
        ],
        "missing": [text.say(lang, meaning.details) for text in meaning.missing],
        "signatures": list(meaning.treated_by),
        "terms": msgspec.to_builtins(meaning.terms),
        "sources": list(meaning.sources),
    }
