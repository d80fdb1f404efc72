"""Where an iteration line stands in a run: how trainers spell the step."""

from __future__ import annotations

import re
from collections import deque
from typing import NamedTuple

LONGEST = 2048  # characters of a line that are read
SPELLED = r"[\"']?[ \t]{0,4}[:=]?[ \t]{0,12}[\"']?"  # between a name and its value
_WHOLE = r"(?P<step>\d{1,3}(?:,\d{3}){1,4}|\d{1,12})"


class Place(NamedTuple):
    """Say where a line stands: the kind of its step, what tells apart the counters of a kind, the step."""

    kind: str
    variant: str
    step: int | None  # None: the program prints none; lines count


class Spot(NamedTuple):
    """Say in which characters of a line its place stands: where the numbers begin and end."""

    kind: str
    step: tuple[int, int] | None = None
    total: tuple[int, int] | None = None
    epoch: tuple[int, int] | None = None

    def read(self, text: str) -> Place:
        """Return the place that a line gives which has its numbers there."""
        if self.step is None:
            return Place(self.kind, "", None)
        step = int(text[slice(*self.step)].replace(",", ""))
        total = text[slice(*self.total)] if self.total else ""
        if self.epoch and total != "inf":
            step += int(text[slice(*self.epoch)]) * int(total)
        return Place(self.kind, total, step)


_STEPS = (
    ("iteration", re.compile(r"(?i:\biteration)" + SPELLED + r"#?" + _WHOLE + r"(?![\d.])")),
    (
        "epoch",
        re.compile(
            r"\b(?:(?:Train )?Epoch|Train|EPOCH|epoch)(?:\(train\))?[:\s|]{0,3}\s{0,3}\[?"
            r"(?P<epoch>\d{1,6})\]?\s{0,4}(?:\[|BATCH )\s{0,8}(?P<step>\d{1,9})\s{0,8}/\s{0,8}"
            r"(?P<total>\d{1,9}|inf)"
        ),
    ),
    (
        "batch",
        re.compile(
            r"\b[eE]poch[:\s]{0,3}\[?\d{1,6}\]?[\s,|:-]{1,6}"
            r"[bB]atch[:\s]{0,3}\[?(?:\d{1,9}-)?(?P<step>\d{1,9})\b"
        ),
    ),
    (
        "step",
        re.compile(
            r"(?<![A-Za-z/])(?:global[_ ]|train[_ ]|training[_ ])?[sS]teps?"
            + SPELLED
            + r"#?"
            + _WHOLE
            + r"(?![\d.:%]\d)"
        ),
    ),
    (
        "iter",
        re.compile(r"(?<![A-Za-z])[iI]ter(?:\(train\))?" + SPELLED + r"\[?\s{0,8}" + _WHOLE + r"(?![\d.]\d)"),
    ),
    ("update", re.compile(r"\bnum_updates" + SPELLED + _WHOLE)),
    ("counted", re.compile(r"^\s{0,8}\[(?P<step>\d{1,9})/(?P<total>\d{1,9})\]")),
)
_BAR = re.compile(
    r"(?P<desc>[^|\r]{0,200})\|[^|\r]{0,400}\|[ ]{0,8}"
    r"(?P<step>\d{1,9})/(?P<total>\d{1,9}) \[[^\]\r]{0,400}\]?"
)
_EPOCH = re.compile(r"\bEpoch (\d{1,6})\b")
_OTHER_BARS = re.compile(
    r"(?i)load|fetch|download|upload|map|filter|token|generat|valid|\btest|sanity|eval|predict|sav(?:e|ing)|pack"
    r"|captur|extract|convert|resolv|flatten|sav|prepar|prefetch|read|writ|comput|infer|cach|quantiz|merg|process"
)
_DICT = re.compile(r"\{[\"'](?:train_)?loss[\"']: ")
_UNMISTAKABLE = (
    ("overflow", ("OVERFLOW!", "radient overflow", "overflow detected")),
    ("served", ("gen throughput", "generation throughput")),
)
_GATE = re.compile(
    r"[iI]ter|[sS]tep|[eE]poch|EPOCH|Train: |it/s|s/it|[lL]oss|throughput|num_updates|^\s{0,8}\[\d"
)
_HELD_OUT = re.compile(
    r"(?i)\b(?:eval|valid|validation|val|test)(?:uat\w{1,5})?(?:\b|_)[^|]{0,40}(?:loss|epoch|step|iter)"
)


def spot_in(text: str) -> Spot | None:
    """Return where the place of an iteration line stands in it, commented out or not; None: it is none."""
    text = text[:LONGEST]
    if not _GATE.search(text):
        return None
    for kind, words in _UNMISTAKABLE:
        if any(word in text for word in words):
            return Spot(kind)
    return _last_bar(text) or _by_step(text)


def _by_step(text: str) -> Spot | None:
    begin = text[:160]
    if any(word in begin for word in ("val", "Val", "VAL", "est")) and _HELD_OUT.search(begin):
        return None
    for kind, pattern in _STEPS:
        if found := pattern.search(text):
            known = pattern.groupindex
            total, epoch = (found.span(name) if name in known else None for name in ("total", "epoch"))
            return Spot(kind, found.span("step"), total, epoch)
    return Spot("dict") if _DICT.search(text) else None


def _last_bar(text: str) -> Spot | None:
    if "it/s" not in text and "s/it" not in text:
        return None
    last = last_match(_BAR, text)
    if last is None or _OTHER_BARS.search(last["desc"]):
        return None
    epoch = _EPOCH.search(text[: last.end("desc")], last.start("desc"))
    kind = "average-bar" if epoch else "bar"
    return Spot(kind, last.span("step"), last.span("total"), epoch.span(1) if epoch else None)


def last_match(pattern: re.Pattern[str], text: str, begin: int = 0) -> re.Match[str] | None:
    """Return the last match: of bars that ran together, the latest."""
    found = deque(pattern.finditer(text, begin), maxlen=1)
    return found[0] if found else None
