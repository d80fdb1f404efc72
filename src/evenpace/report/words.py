"""Words and numbers as all surfaces show them, in English or Korean; text from logs is made harmless here."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import numpy as np

from evenpace.diagnose.retelling import named
from evenpace.findings import Evidence, Finding, Subject
from evenpace.report.iterations import Floats
from evenpace.terms import UnknownTerm, label, say

_LONGEST = 2000  # characters
_BLOCKS = "▁▂▃▄▅▆▇█"
_DIRECTIONS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C)
_UNFIT = (*range(0x80, 0xA0), 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF, *range(0xD800, 0xE000))
_CONTROLS = (
    {code: 0x2400 + code for code in range(0x20)}
    | {0x09: 0x20, 0x0A: 0x0A, 0x7F: 0x2421}
    | dict.fromkeys((*_DIRECTIONS, *_UNFIT), 0xFFFD)
)
_ONE_LINE = _CONTROLS | {0x0A: 0x20}


def clean(text: str) -> str:
    """Show control characters and drop marks of direction, so that a log cannot steer a terminal or page."""
    return text.translate(_CONTROLS)


def line(text: str) -> str:
    """Return `clean` text on one line, cut where it is too long to read."""
    return _cut(text).translate(_ONE_LINE)


def block(text: str) -> str:
    """Return `clean` text of several lines, all but the first indented, cut where it is too long to read."""
    return clean(_cut(text)).rstrip("\n").replace("\n", "\n    ")


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def clock(at: float | None) -> str:
    """Show seconds since the epoch as a time of day in UTC."""
    return "?" if at is None else datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S")


def date(at: float | None) -> str:
    """Show seconds since the epoch as date and time in UTC."""
    return "?" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def duration(seconds: float | None) -> str:
    """Show a span of time: `850 µs`, `12.3 ms`, `1.24 s`, `3 min 5 s`, `2 h 4 min`."""
    if seconds is None:
        return "?"
    if seconds < 60:
        return _short(seconds)
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def _short(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            value = seconds / scale
            return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
    return f"{seconds * 1e6:.0f} µs"


def percent(share: float | None) -> str:
    """Show a part of one as a percentage."""
    return "?" if share is None else f"{max(0.0, min(share, 1.0)):.0%}"


def listed(value: object) -> str:
    """Show a value or a list of values."""
    return ", ".join(line(str(v)) for v in value) if isinstance(value, list | tuple) else line(str(value))


def who(subject: Subject, lang: str) -> str:
    """Name a subject by the parts that are known, nearest first: `rank 3 on node1`."""
    if subject.link is not None:
        return listed(subject.link)
    local = subject.local_rank if subject.rank is None else None
    parts = [
        f"{name} {listed(value)}"
        for name, value in (("rank", subject.rank), ("local rank", local), ("GPU", subject.gpu))
        if value is not None
    ]
    inner = ", ".join(parts)
    if subject.node is None:
        return inner or (listed(subject.object) if subject.object else say("report-whole-job", lang))
    node = listed(subject.node)
    return say("report-on-node", lang, part=inner, node=node) if inner else node


def fault(slug: str, lang: str) -> str:
    """Return the label of a fault, or its slug where the vocabulary does not have it."""
    try:
        return label("fault", slug, lang)
    except UnknownTerm:
        return line(slug)


def uncapped(label: str) -> str:
    """Return a label as within a sentence: `Slow worker` as `slow worker`, `GPU driver` as it is."""
    return label[:1].lower() + label[1:] if label[1:2].islower() else label


def ranges(numbers: Iterable[int]) -> str:
    """Show whole numbers with runs drawn together: `0-36, 38-63`."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def sparkline(values: Floats, width: int, top: float) -> str:
    """Draw values from 0 to `top` on at most `width` characters, each the highest of its stretch."""
    if not len(values) or top <= 0:
        return ""
    peaks = [min(float(part.max()), top) for part in np.array_split(values, min(width, len(values)))]
    scale = (len(_BLOCKS) - 1) / top
    return "".join(_BLOCKS[round(peak * scale)] for peak in peaks)


def sentence(finding: Finding, lang: str) -> str:
    """Say a finding in `lang` on one line, with whom it accuses."""
    return line(named(finding, lang))


def evidence(item: Evidence, lang: str) -> str:
    """Show evidence: its source, then the raw text or the number beside what was expected."""
    place = f"{item.source}:{item.line}" if item.line is not None else item.source
    if item.text is not None:
        gap = "\n    " if "\n" in item.text else "  "
        return f"{line(place)}{gap}{block(item.text)}"
    measured = f"{line(place)}  {line(item.metric or '')} {number(item.value)}"
    if item.expected is None:
        return measured
    return say("report-expected", lang, measured=measured, expected=number(item.expected))


def number(value: float | str | None) -> str:
    """Show a measured value."""
    if isinstance(value, float):
        return f"{value + 0.0:.4g}"  # never "-0"
    return "" if value is None else line(str(value))
