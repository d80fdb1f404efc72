"""How times, parts and numbers are written on all surfaces; text from logs is made harmless here."""

from __future__ import annotations

import math
from collections.abc import Iterable

_LONGEST = 2000  # characters
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
    return cut(text).translate(_ONE_LINE)


def cut(text: str) -> str:
    """Return text cut where it is too long to read."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def duration(seconds: float | None) -> str:
    """Show a span of time: `850 µs`, `12.3 ms`, `1.24 s`, `3 min 5 s`, `2 h 4 min`."""
    if seconds is None or not math.isfinite(seconds):
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


def size(count: int) -> str:
    """Show a number of bytes: `512 B`, `4 MiB`, `1.5 GiB`."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.3g} {unit}"
        value /= 1024
    return f"{value:.3g} TiB"


def percent(share: float | None) -> str:
    """Show a part of one as a percentage."""
    return "?" if share is None else f"{max(0.0, min(share, 1.0)):.0%}"


def ranges(numbers: Iterable[int]) -> str:
    """Show whole numbers with runs drawn together: `0-36, 38-63`."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
