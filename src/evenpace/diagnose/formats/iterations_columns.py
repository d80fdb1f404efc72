"""What iteration lines look like: how each trainer spells the step, and how the columns are spelled.

A line is read by the words in it and not by the program that printed it, so that a fork of a trainer, or a
script that nobody knows, is read like the rest.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

LONGEST = 4096  # characters of a line that are read
_SPELLED = r"[\"']?[ \t]{0,4}[:=]?[ \t]{0,12}[\"']?"
_NUMBER = (
    r"(?P<value>[-+]?(?:(?:\d{1,3}(?:,\d{3}){1,5}|\d{1,20})(?:\.\d{0,24})?|\.\d{1,24})(?:[eE][-+]?\d{1,3})?"
    r"|[-+]?(?:nan|NaN|NAN|inf|Inf|INF|Infinity)\b)"
)
_WHOLE = r"(?P<step>\d{1,3}(?:,\d{3}){1,4}|\d{1,12})"
_SCALES = {"k": 1e3, "m": 1e6, "g": 1e9, "b": 1e9}


class Column(NamedTuple):
    """Hold one spelling of a column. A group `unit` of `ms` divides by 1000, `scale` multiplies."""

    name: str
    unit: str
    pattern: re.Pattern[str]
    inverse: bool = False


class Place(NamedTuple):
    """Say where a line stands: the kind of its step, what tells apart the counters of a kind, the step."""

    kind: str
    variant: str
    step: int | None  # None: the program prints none; lines count


def _named(name: str, unit: str, words: str, after: str = "") -> Column:
    return Column(name, unit, re.compile(words + _SPELLED + _NUMBER + after))


_TIME = r"(?<![\w-])(?:(?:step|batch|iter|iteration|train_step)[ _])?[tT]im(?:e|ing)(?: in s)?"
_NOT_TOTAL = "".join(
    f"(?<!{word}[ _])"
    for word in ("elapsed", "total", "wall", "eval", "data", "load", "last", "real", "save")
)
_RATE = r"(?:/|_per_|p| per )(?:second|sec|s)(?:(?:/|_per_| per )(?:gpu|GPU|device))?\b\)?"
_COLUMNS = (
    Column(
        "iteration-seconds",
        "s",
        re.compile(
            r"elapsed[ _]time[ _]per[ _]iteration[ _]\(?(?P<unit>ms|s)\)?"
            + _SPELLED
            + _NUMBER
            + r"(?P<scale>[KkM])?\b"
        ),
    ),
    _named("iteration-seconds", "s", r"\biter time \(s\)"),
    _named("iteration-seconds", "s", r"\bBatch \(t\)"),
    _named("iteration-seconds", "s", _NOT_TOTAL + _TIME, r"(?![\d:/-])\s?(?P<unit>ms)?"),
    _named("iteration-seconds", "s", r"(?<![\w-])dt", r"\s?(?P<unit>ms|s)\b"),
    Column("iteration-seconds", "s", re.compile(_NUMBER + r" ?(?:s/it|s/step|sec/step|sec/it|s/iter)\b")),
    Column(
        "iteration-seconds", "s", re.compile(_NUMBER + r" ?(?:it|steps?|iters?)/s(?:ec)?\b"), inverse=True
    ),
    Column("iteration-seconds", "s", re.compile(r"(?<!\w)ups" + _SPELLED + _NUMBER), inverse=True),
    _named("served-tokens-per-second", "tok/s", r"(?:gen(?:eration)?|Decode) throughput(?: \(token/s\))?"),
    _named("tokens-per-second", "tok/s", r"(?<![A-Za-z])(?:tokens?|toks?)" + _RATE, r"(?P<scale>[KkMG])?\b"),
    _named("tokens-per-second", "tok/s", r"(?<!\w)(?:tps|tgs|wps)", r"(?P<scale>[KkMG])?\b"),
    Column(
        "tokens-per-second",
        "tok/s",
        re.compile(_NUMBER + r" ?(?P<scale>[KkM])? ?(?:tokens?|toks?)/s(?:ec(?:ond)?)?\b"),
    ),
    _named("samples-per-second", "samples/s", r"\bCurrSamplesPerSec"),
    _named("samples-per-second", "samples/s", r"(?<!\w)SamplesPerSec"),
    _named("samples-per-second", "samples/s", r"(?<!\w)(?:samples|examples|images|imgs?|seqs)" + _RATE),
    Column("samples-per-second", "samples/s", re.compile(r"\bBatch \(t\): ?[\d.]{1,20}, " + _NUMBER + "/s")),
    Column("samples-per-second", "samples/s", re.compile(_NUMBER + r" ?(?:samples|images|imgs?)/s(?:ec)?\b")),
    _named(
        "tflops", "TFLOP/s", r"(?:\bTFLOPs|\(TFLOP/s/GPU\)|(?<!hardware_)\b(?:model_)?tflops(?:_per_gpu)?)"
    ),
    _named("data-seconds", "s", r"\bData \(t\)"),
    _named(
        "data-seconds",
        "s",
        r"(?<![\w.-])(?:data(?:[ _-](?:wait|(?:load(?:ing)?[ _])?time))?|Data)",
        r"(?<=[\d.])(?![\d/:-])\s?(?P<unit>ms)?",
    ),
    _named("loss-scale", "", r"\b(?:reducing loss scale to|reducing to)"),
    _named("loss-scale", "", r"\bloss[ _]scale"),
    _named("grad-norm", "", r"(?<![a-z])(?:global[ _])?(?:grad(?:ient)?s?[ _-]?norm|gnorm)"),
    _named(
        "loss",
        "",
        r"(?<![\w/])(?<!val )(?<!valid )(?<!eval )(?<!test )(?<!validation )(?:(?:lm|train|training|"
        r"reduced_train|avr|avg|tr|total|mean|ce|nll|global_avg|loss_metrics/global_avg)[ _])?[lL]oss",
    ),
)
_COUNTED = r"\[?[ ]{0,8}(?P<step>\d{1,9})[ ]{0,4}/[ ]{0,4}(?P<total>\d{1,9})"
_STEPS = (
    ("iteration", re.compile(r"(?i:\biteration)" + _SPELLED + r"#?" + _WHOLE + r"(?![\d.])")),
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
            + _SPELLED
            + r"#?"
            + _WHOLE
            + r"(?![\d.:%]\d)"
        ),
    ),
    (
        "iter",
        re.compile(
            r"(?<![A-Za-z])[iI]ter(?:\(train\))?" + _SPELLED + r"\[?\s{0,8}" + _WHOLE + r"(?![\d.]\d)"
        ),
    ),
    ("update", re.compile(r"\bnum_updates" + _SPELLED + _WHOLE)),
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
_SERVED = re.compile(r"gen(?:eration)? throughput")
_GATE = re.compile(
    r"[iI]ter|[sS]tep|[eE]poch|EPOCH|Train: |it/s|s/it|[lL]oss|throughput|num_updates|^\s{0,8}\[\d"
)
_OVERFLOW = re.compile(r"OVERFLOW!|[Gg]radient overflow|overflow detected")
_HELD_OUT = re.compile(
    r"(?i)\b(?:eval|valid|validation|val|test)(?:uat\w{1,5})?(?:\b|_)[^|]{0,40}(?:loss|epoch|step|iter)"
)


def place_of(text: str) -> Place | None:
    """Return where a line stands in the run, or None if it is no iteration line."""
    if text.lstrip().startswith(("#", 'File "')):
        return None
    return place_in(text)


def place_in(text: str) -> Place | None:
    """Return where a line stands, commented out or not."""
    text = text[:LONGEST]
    if not _GATE.search(text):
        return None
    for kind, unmistakable in (("overflow", _OVERFLOW), ("served", _SERVED)):
        if unmistakable.search(text):
            return Place(kind, "", None)
    return _last_bar(text) or _by_step(text)


def _by_step(text: str) -> Place | None:
    if _HELD_OUT.search(text[:160]):
        return None
    for kind, pattern in _STEPS:
        if found := pattern.search(text):
            return _counted(kind, found)
    return Place("dict", "", None) if _DICT.search(text) else None


def _counted(kind: str, found: re.Match[str]) -> Place:
    groups = found.groupdict()
    step = int(found["step"].replace(",", ""))
    if kind == "epoch" and groups["total"] != "inf":
        step += int(groups["epoch"]) * int(groups["total"])
    return Place(kind, groups.get("total") or "", step)


def _last_bar(text: str) -> Place | None:
    last = _last(_BAR, text)
    if last is None or _OTHER_BARS.search(last["desc"]):
        return None
    epoch = _EPOCH.search(last["desc"])
    step = int(last["step"]) + (int(epoch[1]) * int(last["total"]) if epoch else 0)
    return Place("average-bar" if epoch else "bar", last["total"], step)


def columns_of(text: str, place: Place) -> Iterator[tuple[str, str, float]]:
    """Yield name, unit and value of each column that a line has, each name once."""
    text = text[:LONGEST]
    if place.kind in ("bar", "average-bar"):
        text = text[max(text.rfind("\r"), 0) :]
    seen: set[str] = set()
    for column in _COLUMNS:
        if column.name in seen or not _belongs(column.name, place.kind):
            continue
        found = _last(column.pattern, text) if place.kind == "bar" else column.pattern.search(text)
        if found and (value := _value(column, found)) is not None:
            seen.add(column.name)
            yield column.name, column.unit, value


def _belongs(name: str, kind: str) -> bool:
    """Tell whether such a line can have the column: a bar that averages since its start has no pace."""
    if kind == "overflow":
        return name == "loss-scale"
    if kind == "served":
        return name == "served-tokens-per-second"
    return name != "served-tokens-per-second" and (kind != "average-bar" or name != "iteration-seconds")


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    found = deque(pattern.finditer(text), maxlen=1)
    return found[0] if found else None


def _value(column: Column, found: re.Match[str]) -> float | None:
    value = float(found["value"].replace(",", ""))
    groups = found.groupdict()
    value *= _SCALES.get((groups.get("scale") or "").lower(), 1.0)
    value /= 1000 if groups.get("unit") == "ms" else 1
    if not column.inverse:
        return value
    return 1 / value if value else None
