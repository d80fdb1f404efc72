"""Make a case of texts, and let one judge see it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from evenpace.diagnose.lines import read_lines
from evenpace.diagnose.model import Case, Sighting, Source

Judge = Callable[[Case], Iterable[Sighting]]


def seen(judge: Judge, *texts: str, **named: str) -> list[Sighting]:
    """Return what a judge sees in logs, `a.log`, `b.log` … unless they are named."""
    logs = {f"{chr(97 + at)}.log": text for at, text in enumerate(texts)} | {
        f"{name.replace('_', '-')}.log": text for name, text in named.items()
    }
    lines = [line for name, text in logs.items() for line in read_lines(name, text)]
    return list(judge(Case(tuple(Source(name) for name in logs), tuple(lines))))
