"""Say a stored sentence in another language: find the phrase that made it, and the values within it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from string import Formatter

from evenpace.terms import LANGUAGES, phrases, say

_RETOLD = (
    "advice-",
    "missing-",
    "difference-",
    "decision-",
    "degraded-",
    "narrowed-",
    "probing-",
    "applying-",
)


def retell(text: str, lang: str) -> str:
    """Return `text` in `lang` where it is one of our sentences in another language, else as it is."""
    for key, template, source in _templates():
        values = None if source == lang else _values(template, text)
        if values is not None and say(key, source, **values) == text:
            return say(key, lang, **values)
    return text


@cache
def _templates() -> list[tuple[str, str, str]]:
    """Return key, template and language of the sentences that are stored as text, the most telling first."""
    found = [
        (key, sentence[lang], lang)
        for key, sentence in phrases().items()
        if key.startswith(_RETOLD)
        for lang in LANGUAGES
        if lang in sentence
    ]
    return sorted(found, key=lambda entry: -sum(len(part[0]) for part in Formatter().parse(entry[1])))


def _values(template: str, text: str) -> Mapping[str, str | float] | None:
    """Return what stands in `text` in the places of the template's names; None where it does not fit."""
    values: dict[str, str | float] = {}
    name, form, at = None, "", 0
    parts = list(Formatter().parse(template))
    for number, (literal, field, spec, _) in enumerate(parts):
        if name is None:
            found = at if text.startswith(literal, at) else -1
        elif number == len(parts) - 1 and field is None:
            found = len(text) - len(literal) if text.endswith(literal) else -1
        else:
            found = text.find(literal, at) if literal else -1
        if found < at or not _take(values, name, form, text[at:found]):
            return None
        name, form, at = field, spec or "", found + len(literal)
    if name is not None:
        return values if _take(values, name, form, text[at:]) else None
    return values if at == len(text) else None


def _take(values: dict[str, str | float], name: str | None, form: str, text: str) -> bool:
    """Keep a value, a number where the template formats one; tell whether it is one then."""
    if name is None:
        return True
    try:
        values[name] = float(text) if form else text
    except ValueError:
        return False
    return True
