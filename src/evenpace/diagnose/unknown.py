"""Lines that no signature knows: the rare ones near the failure, for a reader to look at."""

from __future__ import annotations

import re
from collections.abc import Collection

from evenpace.diagnose.model import Case, Line
from evenpace.diagnose.templates import Template, Tree

MOST = 24
# An error that a program reports; words such as "error_file" or "0 errors" are none.
_ERROR = re.compile(
    r"\b(?:error|fatal|fail(?:ed|ure)?|exception|panic|abort(?:ed|ing)?|killed|refused|denied|unreachable|"
    r"corrupt(?:ed)?|lost|timed? ?out|segfault|core dumped|terminate|stale|invalid|unable|cannot|not found|"
    r"unexpected\w{0,2}|no space|out of|assert\w{0,5}|missing|hang|stuck|unhealthy|overflow|nan|"
    r"cancel\w{0,4}|s?xid|faulty?|mismatch|exceeded|insufficient|unsupported|not supported|preempted|"
    r"signal|disconnected|"
    r"uncorrect\w{0,5}|remap\w{0,4}|duplicate|limited by|reset required|busy|link down|not responding|"
    r"critical|not (?:yet )?(?:initialized|available|ready|found|join\w{0,3})|didn't)\b|Error\b",
    re.IGNORECASE,
)
_HARMLESS = re.compile(
    r"\b(?:0|no|without|zero) (?:errors?|failures?)\b|error_file|NO_OTHER_FAILURES|warnings?\.warn|"
    r"(?:Future|User|Deprecation|Runtime)Warning|number of nan iterations:   0|NCCL INFO",
    re.IGNORECASE,
)
# Words after which nobody says that a run went well.
_FAILED = re.compile(
    r"Traceback \(most recent call last\)|core dumped|Segmentation fault|terminate called|Fatal Python error|"
    r"\bFATAL\b|\bfatal error\b|exits? with (?:return|exit)? ?code ?[=:]? ?-?[1-9]|"
    r"Exited with exit code [1-9]|[Aa]ssertion failed|NVRM: .{0,200}\bfailed\b|exitcode ?:? ?-?[1-9]|"
    r"^\S{0,60}(?:Error|Exception): |\bFAILED\b|\bKilled\b|NCCL WARN|Aborted",
)


def sounds_bad(line: Line) -> bool:
    """Tell whether a line reports an error."""
    return _ERROR.search(line.text) is not None and _HARMLESS.search(line.text) is None


def says_failed(case: Case, known: Collection[tuple[str, int]]) -> bool:
    """Tell whether some line, other than the `known` ones (source, number), says that the run failed."""
    return any(
        _FAILED.search(line.text) and not _HARMLESS.search(line.text)
        for line in case.lines
        if (line.source, line.number) not in known
    )


def rare(case: Case, known: Collection[tuple[str, int]], most: int = MOST) -> list[Line]:
    """Return lines to look at: errors before others, rare before frequent, late before early.

    Of each kind of line the first and the last are shown. They keep the order of the logs.
    """
    tree = Tree()
    places: dict[int, int] = {}
    for at, line in enumerate(case.lines):
        if (line.source, line.number) not in known:
            tree.add(line)
            places[id(line)] = at
    ranked = sorted(tree.templates, key=lambda one: -_score(one, places[id(one.last)] / len(case.lines)))
    lines = [line for one in ranked for line in dict.fromkeys((one.first, one.last))][:most]
    return sorted(lines, key=lambda line: places[id(line)])


def _score(kind: Template, place: float) -> float:
    line = kind.last
    strong = 2.0 if _FAILED.search(line.text) else 0.0
    bad = 3.0 if sounds_bad(line) else 0.0
    frame = 3.0 if line.text.lstrip().startswith(("File ", "frame #")) else 0.0
    unfinished = 2.5 if line.format == "progress" and "100%" not in line.text else 0.0
    boring = 1.0 if line.format == "iteration" or _HARMLESS.search(line.text) else 0.0
    return strong + bad + unfinished + place + 1 / kind.count - frame - boring
