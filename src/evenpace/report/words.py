"""Words and numbers as all surfaces show them, in English or Korean; text from logs is made harmless here."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from evenpace.diagnose.retelling import named
from evenpace.findings import Evidence, Finding, Subject
from evenpace.report.iterations import Floats
from evenpace.report.measures import measured, quoted, source
from evenpace.terms import UnknownTerm, label, say
from evenpace.terms.spelling import clean, cut, line

_BLOCKS = "▁▂▃▄▅▆▇█"


def block(text: str) -> str:
    """Return `clean` text of several lines, all but the first indented, cut where it is too long to read."""
    return clean(cut(text)).rstrip("\n").replace("\n", "\n    ")


def clock(at: float | None) -> str:
    """Show seconds since the epoch as a time of day in UTC."""
    return "?" if at is None else datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S")


def date(at: float | None) -> str:
    """Show seconds since the epoch as date and time in UTC."""
    return "?" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


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
    place = source(item, lang)
    if item.text is None:
        return f"{place}  {measured(item, lang)}"
    gap = "\n    " if "\n" in item.text else "  "
    return f"{place}{gap}{block(quoted(item, lang))}"
