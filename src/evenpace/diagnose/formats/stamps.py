"""Stamps of time, as the programs of a training cluster write them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from functools import lru_cache
from typing import NamedTuple

BOOT, CLOCK, YEARLESS, DATED = range(4)
_DAY = 86400
_LEAP = date(1972, 1, 1).toordinal()
_EPOCH = date(1970, 1, 1).toordinal()
_MONTHS = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1
    )
}
_MONTH = "(" + "|".join(_MONTHS) + ")"
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_WEEKDAY = "(?:" + "|".join(_WEEKDAYS) + ")"
_TIME = r"(\d{1,2}):(\d\d):(\d\d)(?:[.,:](\d{1,9}))?"
_ZONE = r"(?:\s?(Z|UTC|GMT|[+-]\d\d:?\d\d)(?![\w:]))?"


class Stamp(NamedTuple):
    """Hold a stamp: where it ends, what it lacks, and seconds since the epoch, the year, midnight or boot."""

    end: int
    kind: int
    seconds: float


@lru_cache(maxsize=4096)
def _days(year: int, month: int, day: int) -> int | None:
    try:
        return date(year, month, day).toordinal() - _EPOCH
    except ValueError:
        return None


def _clock(hour: str, minute: str, second: str, part: str | None) -> float | None:
    hours, minutes, seconds = int(hour), int(minute), int(second)
    if hours > 23 or minutes > 59 or seconds > 60:
        return None
    fraction = int(part) / 10 ** len(part) if part else 0.0
    return hours * 3600 + minutes * 60 + seconds + fraction


def _offset(zone: str | None) -> int:
    if not zone or zone[0] not in "+-":
        return 0
    seconds = int(zone[1:3]) * 3600 + int(zone[-2:]) * 60
    return -seconds if zone[0] == "+" else seconds


def _stamp(
    end: int, day: tuple[int | None, int, int], clock: Sequence[str | None], zone: str | None = None
) -> Stamp | None:
    year, month, number = day
    days = _days(year or 1972, month, number)
    seconds = _clock(str(clock[0]), str(clock[1]), str(clock[2]), clock[3])
    if days is None or seconds is None or not (year is None or 1970 <= year <= 2200):
        return None
    if year is None:
        return Stamp(end, YEARLESS, (days + _EPOCH - _LEAP) * _DAY + seconds)
    return Stamp(end, DATED, days * _DAY + seconds + _offset(zone))


_ISO = re.compile(r"[\[(]?(\d{4})([-/])(\d{1,2})\2(\d{1,2})[T ,_:|-]{1,2}" + _TIME + _ZONE)
_ANYWHERE = re.compile(r"(?<!\d)(\d{4})([-/])(\d\d)\2(\d\d)[T ,_]" + _TIME + _ZONE)


def _iso(text: str, at: int) -> Stamp | None:
    return _from_iso(_ISO.match(text, at))


def _from_iso(found: re.Match[str] | None) -> Stamp | None:
    if not found:
        return None
    day = (int(found[1]), int(found[3]), int(found[4]))
    return _stamp(found.end(), day, found.groups()[4:8], found[9])


_COMPACT = re.compile(
    r"\[?(\d{4})(\d\d)(\d\d)[-T _](\d\d):?(\d\d):?(\d\d)(?:[.,](\d{1,9}))?" + _ZONE + r"(?!\d)"
)


def _compact(text: str, at: int) -> Stamp | None:
    found = _COMPACT.match(text, at)
    if not found:
        return None
    return _stamp(found.end(), (int(found[1]), int(found[2]), int(found[3])), found.groups()[3:7], found[8])


_SLASHED = re.compile(r"\[?(\d{1,2})/(\d{1,2})(?:/(\d{4}|\d\d))?[ ,]{1,2}" + _TIME + r"(?: ?([AP]M))?(?!\d)")


def _slashed(text: str, at: int) -> Stamp | None:
    found = _SLASHED.match(text, at)
    if not found:
        return None
    month, day = int(found[1]), int(found[2])
    if month > 12 >= day:
        month, day = day, month
    year = None if found[3] is None else int(found[3]) + (2000 if len(found[3]) == 2 else 0)
    stamp = _stamp(found.end(), (year, month, day), found.groups()[3:7])
    if stamp and found[8]:
        noon = int(found[4]) % 12 + (12 if found[8] == "PM" else 0)
        return stamp._replace(seconds=stamp.seconds + (noon - int(found[4])) * 3600)
    return stamp


_SHORT = re.compile(r"(\d\d)-(\d\d) " + _TIME)


def month_and_day(text: str, at: int) -> Stamp | None:
    """Return the stamp `MM-DD hh:mm:ss` that begins at `at`; only a known logger makes it one."""
    found = _SHORT.match(text, at)
    return _stamp(found.end(), (None, int(found[1]), int(found[2])), found.groups()[2:6]) if found else None


_NAMED = re.compile(
    rf"[\[(]?(?:{_WEEKDAY},? )?(?:(\d{{1,2}}) {_MONTH}|{_MONTH} {{1,2}}(\d{{1,2}}))(?: (\d{{4}}))? "
    + _TIME
    + r"(?: (?:[A-Z]{3,5} )?(\d{4})(?![\d:-]))?"
    + _ZONE
)


def _named(text: str, at: int) -> Stamp | None:
    found = _NAMED.match(text, at)
    if not found:
        return None
    year = found[5] or found[10]
    month = _MONTHS[found[2] or found[3]]
    day = (int(year) if year else None, month, int(found[1] or found[4]))
    return _stamp(found.end(), day, found.groups()[5:9], found[11])


_FULL = re.compile(rf"{_WEEKDAY} (?=\d{{4}}-)")


def _full(text: str, at: int) -> Stamp | None:
    found = _FULL.match(text, at)
    return _iso(text, found.end()) if found else None


_GLOG = re.compile(r"\[?[A-Z](\d{4})?(\d{1,2})(\d\d) (\d\d):(\d\d):(\d\d)\.(\d{1,9})(?![\d.])")


def _glog(text: str, at: int) -> Stamp | None:
    found = _GLOG.match(text, at)
    if not found:
        return None
    day = (int(found[1]) if found[1] else None, int(found[2]), int(found[3]))
    return _stamp(found.end(), day, found.groups()[3:7])


_SECONDS = re.compile(r"\[\s{0,8}(\d{1,10}\.\d{6,9})\]|(1\d{9}\.\d{3,9})(?=\s)")
_KMSG = re.compile(r"\d{1,4},\d{1,12},(\d{1,16}),[-+c](?:,[^;\s]{0,80})?;")


def _seconds(text: str, at: int) -> Stamp | None:
    found = _SECONDS.match(text, at)
    if not found:
        return None
    seconds = float(found[1] or found[2])
    return Stamp(found.end(), DATED if seconds >= 1e9 else BOOT, seconds)


def _kmsg(text: str, at: int) -> Stamp | None:
    found = _KMSG.match(text, at)
    return Stamp(found.end(), BOOT, int(found[1]) / 1e6) if found else None


_BARE = re.compile(r"[\[(]?(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?=[\s\])|])")


def _bare(text: str, at: int) -> Stamp | None:
    found = _BARE.match(text, at)
    seconds = _clock(*found.groups()) if found else None
    return Stamp(found.end(), CLOCK, seconds) if found and seconds is not None else None


_BY_LETTER: dict[str, tuple[Callable[[str, int], Stamp | None], ...]] = {
    **dict.fromkeys("0123456789", (_iso, _slashed, _bare, _kmsg, _seconds, _compact, _named)),
    **dict.fromkeys("ABCDEFGHIJKLMNOPQRSTUVWXYZ", (_glog, _named, _full)),
    "[": (_iso, _glog, _seconds, _named, _slashed, _bare, _compact),
    "(": (_iso, _bare),
}


def read(text: str, at: int = 0) -> Stamp | None:
    """Return the stamp that begins at `at`, or None; a date that does not exist is none."""
    for reader in _BY_LETTER.get(text[at : at + 1], ()):
        if stamp := reader(text, at):
            return stamp
    return None


def names_month(text: str, at: int) -> bool:
    """Tell whether a stamp at `at` begins with a month's name, as syslog's does."""
    return text[at : at + 3] in _MONTHS


def names_weekday(text: str, at: int) -> bool:
    """Tell whether a stamp at `at` begins with a weekday's name in a bracket, as that of `dmesg -T` does."""
    return text[at : at + 1] == "[" and text[at + 1 : at + 4] in _WEEKDAYS


def anywhere(text: str, start: int = 0, end: int = 4096) -> tuple[int, Stamp] | None:
    """Return the first full date with time between `start` and `end`, and where it begins."""
    found = _ANYWHERE.search(text, start, end)
    stamp = _from_iso(found)
    return (found.start(), stamp) if found and stamp else None


def from_number(value: float) -> float | None:
    """Return seconds since the epoch of a number of seconds, milli-, micro- or nanoseconds since then."""
    for unit in (1.0, 1e3, 1e6, 1e9):
        if 1e9 <= value / unit < 1e10:
            return value / unit
    return None


def resolve(stamps: Sequence[Stamp | None], hint: float | None) -> list[tuple[float | None, bool]]:
    """Return time and whether it is dated, with the missing year or day taken from neighbours or the hint."""
    known = [stamp.seconds for stamp in stamps if stamp and stamp.kind == DATED]
    reference = known[0] if known else hint
    day: float | None = None if reference is None else reference // _DAY * _DAY
    last = reference
    found: list[tuple[float | None, bool]] = []
    for stamp in stamps:
        if stamp is None or stamp.kind == BOOT:
            found.append((stamp.seconds if stamp else None, False))
            continue
        time = _placed(stamp, reference, day, last)
        day, last = time // _DAY * _DAY, time
        found.append((time, reference is not None))
    return found


def _placed(stamp: Stamp, reference: float | None, day: float | None, last: float | None) -> float:
    if stamp.kind == DATED:
        return stamp.seconds
    if stamp.kind == CLOCK:
        time = (day or 0.0) + stamp.seconds
        return time + _DAY if last is not None and time < last - _DAY / 2 else time
    if reference is None:
        late = last is not None and stamp.seconds < last - 180 * _DAY
        return stamp.seconds + (366 * _DAY if late else 0)
    return _nearest_year(stamp.seconds, last if last is not None else reference)


def _nearest_year(seconds: float, reference: float) -> float:
    of_year = date.fromordinal(_LEAP + int(seconds // _DAY))
    year = 1970 + int(reference // (365.2425 * _DAY))
    candidates = [
        days * _DAY + seconds % _DAY
        for one in (year - 1, year, year + 1)
        if (days := _days(one, of_year.month, of_year.day)) is not None
    ]
    return min(candidates, key=lambda time: abs(time - reference), default=reference)
