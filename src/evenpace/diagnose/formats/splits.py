"""Split what ran together: records that begin in the middle of another one."""

from __future__ import annotations

import re
from collections.abc import Iterator

import re2

from evenpace.diagnose.formats import clean
from evenpace.diagnose.formats.nccl import HOST

_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:"
_MARKS = (
    r"\[rank\d+\]:|\[default\d+\]:|\]<std(?:out|err|diag)>:|\[[EWIF](?:\d{3,4} [\d:.]+)? [\w./-]+\.(?:cpp"
    r"|hpp|h|cc):\d"
    r"|[EWIF]\d{4} \d\d:\d\d:\d\d\.\d{6}|:\d+:\d+ \[-?\d+\] |NVRM: Xid|Traceback \(most recent"
    r"|\[ *\d+\.\d{6}\] |\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z]"
)
GATE = _MARKS + r"|\d\d:\d\d[^\]\n]*\][^\n]*\S"
_MARK = re2.compile(_MARKS)
_CLOCK = re.compile(r"\[\d{1,4}:\d\d")
_START = re.compile(
    r"\[rank\d{1,7}\]:"
    r"|\[default\d{1,4}\]:"
    r"|\[[\w.@\-]{0,64}\d,\d{1,7}\]<(?:stdout|stderr|stddiag)>:"
    r"|\[[EWIF](?:\d{3,4} \d\d:\d\d:\d\d\.\d{6,9})? [\w./\-]{1,120}\.(?:cpp|hpp|h|cc):\d{1,6}\]"
    r"|[EWIF]\d{4} \d\d:\d\d:\d\d\.\d{6}\s{1,8}\d{1,20} [\w./<>\-]{1,200}:\d{1,6}\]"
    rf"|(?P<nccl>(?<![\w.\-])(?:\[\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d\] )?(?P<host>{HOST}):\d{{1,8}}:\d{{1,8}} "
    r"\[-?\d{1,6}\] )(?=NCCL |[\w./\-]{1,80}:\d{1,6} (?:NCCL )?WARN|INFO |WARN )"
    rf"|\[\s{{0,7}}\d{{1,8}}\.\d{{6}}\] (?=[A-Za-z])|\[{_DAY}[ \d:.]{{5,20}}\] ?"
    r"|NVRM: Xid"
    r"|Traceback \(most recent call last\):"
)
_AFTER_BAR = re.compile(
    r"(?:\s{0,400}(?=\d{1,3}%\||\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)|\s{2,400}(?=\S)|(?=[A-Z\[({/]))"
)


def is_several(text: str, body: int) -> bool:
    """Tell whether a text, whose own header ends at `body`, may hold more than one record."""
    if _MARK.search(text[body:]) and _START.search(text, body):
        return True
    return _CLOCK.search(text, body) is not None and clean.bar_end(text, body) > 0


def pieces(text: str, body: int, hosts: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield the records in `text`, whose own header ends at `body`."""
    at, quotes, counted = 0, 0, 0
    json = text[body : body + 1] in ("{", '"')
    total = text.count('"')
    for start in _starts(text, body, hosts):
        quotes += text.count('"', counted, start)
        counted = start
        if _inside(text, start, quotes, total, json) or not text[at:start].strip():
            continue
        yield text[at:start]
        at = start
    yield text[at:]


def _starts(text: str, body: int, hosts: frozenset[str]) -> Iterator[int]:
    """Yield where a record may begin, in order."""
    found = set(_marks(text, body, hosts))
    end = clean.bar_end(text, body)
    while end:
        if (after := _AFTER_BAR.match(text, end)) and after.end() < len(text):
            found.add(after.end())
        end = clean.bar_end(text, end)
    return iter(sorted(found))


def _marks(text: str, body: int, hosts: frozenset[str]) -> Iterator[int]:
    last = -1
    for mark in _START.finditer(text, body):
        start = _torn_host(mark, hosts)
        if start <= body or mark.start() == last:
            continue
        last = mark.end()
        before = text[max(body, start - 400) : start]
        if not before[-1].isspace() or clean.is_bar(before):
            yield start


def _torn_host(mark: re.Match[str], hosts: frozenset[str]) -> int:
    """Return where the mark begins; a host glued to other text is found by its name elsewhere in the log."""
    host = mark["host"]
    if host is None or host in hosts:
        return mark.start()
    known = max((one for one in hosts if host.endswith(one)), key=len, default="")
    return mark.start("host") + len(host) - len(known) if known else mark.start()


def _inside(text: str, start: int, quotes: int, total: int, json: bool) -> bool:
    """Tell whether `start` lies within a quoted text, where nothing is split."""
    before = text[start - 1]
    if (
        before in "\"'`"
        or text[start - 2 : start] in ("\\n", "\\t")
        or text[start - 2 : start] in ("b'", "r'")
    ):
        return True
    return quotes % 2 == 1 and (json or total % 2 == 0)
