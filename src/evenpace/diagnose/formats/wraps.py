"""Join what a terminal wrapped: lines cut every N columns, with or without blanks up to the edge."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

NARROWEST = 60
_MOST_JOINED = 64
_FEWEST = 3  # lines that can show a width
_WIDE = re.compile(
    "[\\u1100-\\u115f\\u2e80-\\ua4cf\\uac00-\\ud7a3\\uf900-\\ufaff\\ufe30-\\ufe6f\\uff00-\\uff60"
    "\\U0001f300-\\U0001f64f\\U00020000-\\U0003fffd]"
)
_RULED = re.compile(r"[\s|+]{0,4}([-=*_#~.+\u2500-\u259f])\1{5,}")
_TABLE = re.compile(r"\s{0,8}[|+\u2502\u2551]")
_START = re.compile(
    r"\s{2,}\S"
    r"|\s?\[(?:rank|default|E |W |I |[EWIF]\d|\d{4}-|\s{0,8}\d{1,9}\.\d{6}\]|\d{1,4},\d|pod/"
    r"|[A-Z][a-z]{2} [A-Z])"
    r"|[EWIF]\d{4} \d\d:|Traceback \(most|During handling|The above exc|File \"|frame #"
    r"|\d{4}[-/]\d\d[-/]\d\d|\d\d:\d\d:\d\d|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d "
    r"|(?:INFO|WARNING|ERROR|DEBUG|CRITICAL)[: ]|NCCL |NVRM:|slurmstepd|srun:"
    r"|[\w.\-]{1,80}:\d{1,8}:\d{1,8} \["
    r"|[\w.]{1,60}(?:Error|Exception|Warning|Interrupt)\b|\(.{1,60}pid=|\{['\"]|[#$>] |iteration "
    r"|step[ :]|epoch "
    r"|\d{1,3}%\||[-*=]{4}|[|+]"
)
_TORN = re.compile(r"[\w=/.-][a-z0-9_]|[\s,:][a-z0-9]|[a-z0-9][A-Z.=/_-]")
_DIGITS = re.compile(r"\d{1,8}")


def join(lines: Sequence[str], first: int) -> list[tuple[int, str]]:
    """Return the lines with their numbers, those joined that the edge of one terminal cut.

    There must be one width that no line exceeds, and most lines that reach it must be followed by what can
    only be a continuation.
    """
    width = _width(lines)
    if not width:
        return list(enumerate(lines, first))
    joined: list[tuple[int, str]] = []
    count, full = 0, False
    for number, line in enumerate(lines, first):
        if full and count < _MOST_JOINED and _continues(joined[-1][1], line, joined[-1][1][-width:]):
            joined[-1] = (joined[-1][0], joined[-1][1] + line)
            count += 1
        else:
            joined.append((number, line))
            count = 0
        full = _is_full(line, width)
        if full and columns(line) < width:
            joined[-1] = (joined[-1][0], joined[-1][1] + " ")
    return joined


def columns(line: str) -> int:
    """Return how many columns of a terminal a line takes."""
    return len(line) if line.isascii() else len(line) + len(_WIDE.findall(line))


def _width(lines: Sequence[str]) -> int:
    """Return the width of the terminal that cut the lines, or 0."""
    if len(lines) < _FEWEST or (len(lines) == _FEWEST and not lines[-1]):
        return 0
    widths = Counter(columns(line) for line in lines if line.strip() and "\r" not in line)
    widest = max(widths, default=0)
    if widest < NARROWEST:
        return 0
    pairs = [(a, b) for a, b in pairwise(lines) if columns(a) == widest and _ends(a)]
    cut = [(a, b) for a, b in pairs if _continues(a, b, a)]
    torn = [_DIGITS.sub("0", b[:8]) for a, b in cut if _TORN.match(a[-1] + b[0])]
    padded = widths[widest] >= 3 and widths[widest] > len(pairs)
    enough = len(torn) >= 1 if padded else len(torn) >= 2 and len(set(torn)) >= 2
    return widest if enough and len(cut) >= 0.6 * len(pairs) else 0


def _ends(line: str) -> bool:
    """Tell whether text reaches the last column, or the last but one."""
    return not line.endswith("  ") and not line.endswith("\t") and not _RULED.match(line)


def _is_full(line: str, width: int) -> bool:
    return width - 1 <= columns(line) <= width and _ends(line)


def _continues(head: str, line: str, above: str) -> bool:
    """Tell whether `line` can be the rest of `head`: no record begins so, and no row like the last."""
    if not line.strip() or "\r" in line or "\r" in head or _START.match(line):
        return False
    if _RULED.match(above) or _TABLE.match(above) or _RULED.match(line):
        return False
    return line[:4] != head[:4] and line[:4] != above[:4]
