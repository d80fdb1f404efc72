"""Names and units of what findings quote as evidence: the log has the names of machines, people read phrases.

A name that is not known here is shown as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from evenpace.findings import Evidence
from evenpace.terms import say
from evenpace.terms.spelling import duration, line

_Value = float | str | None
_Form = Callable[[_Value], str]


def number(value: _Value) -> str:
    """Show a measured value."""
    if isinstance(value, float):
        return f"{value + 0.0:.4g}"  # never "-0"
    return "" if value is None else line(str(value))


def _seconds(value: _Value) -> str:
    if not isinstance(value, float | int):
        return number(value)
    return f"{'-' if value < 0 else ''}{duration(abs(value))}" if abs(value) >= 5e-7 else "0 s"


def _share(value: _Value) -> str:
    return f"{value:.0%}" if isinstance(value, float | int) else number(value)


def _times(value: _Value) -> str:
    return f"{value:.2f}x" if isinstance(value, float | int) else number(value)


@dataclass(frozen=True, slots=True)
class _Name:
    """The phrase of a name, what of the name is filled into it, and how its value is written."""

    phrase: str
    form: _Form = number
    details: dict[str, str] = field(default_factory=dict)


_METRICS = {
    "seconds of a healthy iteration": _Name("evidence-healthy", _seconds),
    "seconds an iteration lost": _Name("evidence-lost", _seconds),
    "largest growth of own time": _Name("evidence-own-largest", _seconds),
    "median growth of own time": _Name("evidence-own-median", _seconds),
    "median growth of waiting": _Name("evidence-waiting-median", _seconds),
    "median growth of transfer": _Name("evidence-transfer-median", _seconds),
    "largest growth among the others": _Name("evidence-own-others", _seconds),
    "dominance": _Name("evidence-dominance", _share),
    "growth of the pair's transfer": _Name("evidence-pair", _seconds),
    "own seconds more per iteration": _Name("evidence-own", _seconds),
    "own time to the median of peers": _Name("evidence-own-to-peers", _times),
    "share of looks: process stopped": _Name("evidence-stopped", _share),
    "share of time: waited for a CPU": _Name("evidence-starved", _share),
    "seconds since its last operation": _Name("evidence-since-operation", _seconds),
    "seconds since its Python last ran": _Name("evidence-since-python", _seconds),
    "state in /proc": _Name("evidence-state"),
    "end": _Name("evidence-end"),
    "step time, s": _Name("evidence-step", _seconds),
    "slowdown explained": _Name("evidence-explained", _share),
    "correlation of forward and backward of a micro-batch": _Name("evidence-correlation"),
    "iteration time to its level before": _Name("evidence-to-before", _times),
    "known at iteration": _Name("evidence-known"),
}
_NUMBERED = (
    (re.compile(r"operation at sequence (?P<sequence>-?\d+)"), "evidence-operation", number),
    (re.compile(r"(?P<name>.{1,200}): time to its peers' median"), "evidence-part-to-peers", _times),
)
_SOURCES = (
    (re.compile(r"iterations"), "evidence-source-iterations"),
    (re.compile(r"wait-for graph"), "evidence-source-waits"),
    (re.compile(r"rank (?P<rank>\d+) exception"), "evidence-source-exception"),
    (re.compile(r"process (?P<pid>\d+)"), "evidence-source-process"),
    (re.compile(r"process (?P<pid>\d+) \(rank (?P<rank>\d+)\)"), "evidence-source-process-rank"),
)
_WAIT = re.compile(r"rank (?P<rank>\d+) waits for rank (?P<on>\d+) in (?P<operation>\S+ -?\d+)")


def measured(item: Evidence, lang: str) -> str:
    """Name what was measured, with its value and what was expected, each with its unit."""
    name = _name(item.metric or "")
    label = say(name.phrase, lang, **name.details) if name.phrase else line(item.metric or "")
    text = f"{label} {name.form(item.value)}"
    if item.expected is None:
        return text
    return say("report-expected", lang, measured=text, expected=name.form(item.expected))


def source(item: Evidence, lang: str) -> str:
    """Name where evidence was taken from: a file with its line, or what of evenpace's own saw it."""
    if item.line is not None:
        return line(f"{item.source}:{item.line}")
    for pattern, phrase in _SOURCES:
        if found := pattern.fullmatch(item.source):
            return say(phrase, lang, **found.groupdict())
    return line(item.source)


def quoted(item: Evidence, lang: str) -> str:
    """Return the raw text of evidence; who waits for whom is our own sentence, and said in `lang`."""
    text = item.text or ""
    found = _WAIT.fullmatch(text) if item.source == "wait-for graph" else None
    return say("evidence-wait", lang, **found.groupdict()) if found else text


def _name(metric: str) -> _Name:
    if metric in _METRICS:
        return _METRICS[metric]
    for pattern, phrase, form in _NUMBERED:
        if found := pattern.fullmatch(metric):
            details = {name: line(value) for name, value in found.groupdict().items()}
            return _Name(phrase, form, details)
    return _Name("")
