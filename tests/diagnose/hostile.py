"""Made-up hostile texts, of any number of lines, for the tests of how time grows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import count, cycle, islice
from pathlib import Path

from evenpace.diagnose.engine import diagnose
from evenpace.diagnose.formats import json_errors, launchers
from evenpace.diagnose.formats.iterations import series_of
from evenpace.diagnose.lines import read_lines
from evenpace.diagnose.model import Case, Line, Series, Source
from evenpace.diagnose.signature import signatures
from evenpace.diagnose.telling import finding
from evenpace.findings import Finding

_NUMBER = re.compile(r"\d{1,6}")


def case_of(files: Iterable[tuple[str, str]]) -> Case:
    """Return the case of files given as names and texts."""
    lines: list[Line] = []
    series: list[Series] = []
    sources: list[Source] = []
    for name, text in files:
        read = read_lines(name, text)
        lines += read
        series += series_of(read)
        sources.append(Source(name, len(text), len(read)))
    lines = json_errors.identify(launchers.identify(lines))
    return Case(tuple(sources), tuple(lines), tuple(series))


def said(case: Case) -> list[Finding]:
    """Return all that is said about a case."""
    return [finding(one) for one in diagnose(case)]


def _numbered(template: str) -> Callable[[int], str]:
    """Return texts of n lines in which `#` is another number each."""
    return lambda n: "\n".join(template.replace("#", str(at)) for at in range(n))


def _examples(n: int) -> str:
    """Return the examples of the signatures one after the other, with other numbers in each round."""
    lines = [
        line
        for one in signatures().values()
        for each in one.content.example
        for line in each.text.splitlines()
    ]
    return "\n".join(
        islice((_moved(line, at // len(lines)) for at, line in zip(count(), cycle(lines), strict=False)), n)
    )


def _moved(line: str, by: int) -> str:
    return _NUMBER.sub(
        lambda found: str((int(found[0]) + by) % 10 ** len(found[0])).zfill(len(found[0])), line
    )


def _spelled(number: int) -> str:
    return "".join(chr(97 + int(digit)) for digit in str(number))


_FRAME = '  File "a#.py", line #, in f#\n    x = #'
_OPEN = '"rank": #, "extraInfo": {"py_callstack": "Traceback #'
_LINES = [row.split(" | ", 1) for row in Path(__file__).with_suffix(".txt").read_text().splitlines()]
TEXTS: dict[str, Callable[[int], str]] = {
    "examples": _examples,
    "traceback without end": lambda n: "Traceback (most recent call last):\n" + _numbered(_FRAME)(n // 2),
    "braces": lambda n: "\n".join(["{" * 40] * n),
    "json without end": lambda n: '{"message": {\n' + _numbered(_OPEN)(n),
    "templates": lambda n: "\n".join(f"error {_spelled(at)} gone" for at in range(n)),
    "missing ranks": lambda n: "[rank0]: missing ranks: " + ", ".join(map(str, range(n))),
    "bars": lambda n: "\r".join(f" {at}%|####   | {at}/100 [00:0{at % 9}<01:00, 3.2it/s]" for at in range(n)),
    "long line": lambda n: "ERROR [rank0]: " * n,
} | {name: _numbered(template.replace("\\n", "\n")) for name, template in _LINES}
