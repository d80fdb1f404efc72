"""What a check is, as plain data in one language: why it matters, what it reads, what stands behind it."""

from __future__ import annotations

from functools import cache
from typing import Any

from evenpace.checks.catalogue import Check
from evenpace.library.catalogue import Library
from evenpace.terms.bilingual import Text, fill_command


def about(check: Check, lang: str) -> dict[str, Any]:
    """Return all that is said of a check; what a finding would fill in stands as `<name>`."""
    content = check.content
    return {
        "id": check.id,
        "family": check.family,
        "severity": content.severity.value,
        "fault": content.fault,
        "title": content.title.say(lang, {}),
        "why": content.why.say(lang, {}),
        "finds": content.gap.say(lang, {}),
        "reads": {
            "judged": list(check.judged),
            "needs": list(check.needs),
            "if_served": list(check.if_served),
        },
        "advice": [
            {
                "text": Text(one.en, one.ko).say(lang, {}),
                "command": one.command and fill_command(one.command, {}),
            }
            for one in content.advice
        ],
        "incidents": [
            {
                "id": one.id,
                "title": _library().get(one.id).text(lang).title,
                "why": one.ko if lang == "ko" else one.en,
            }
            for one in content.incident
        ],
        "documents": [{"title": one.title, "url": one.url} for one in content.document],
    }


@cache
def _library() -> Library:
    return Library.open()
