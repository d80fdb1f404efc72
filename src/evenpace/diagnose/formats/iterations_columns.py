"""What iteration lines report: how the columns are spelled.

A line is read by the words in it and not by the program that printed it, so that a fork of a trainer, or a
script that nobody knows, is read like the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from evenpace.diagnose.formats.iterations_places import LONGEST, SPELLED, Place, Spot, last_match, spot_in

_NUMBER = (
    r"(?P<value>[-+]?(?:(?:\d{1,3}(?:,\d{3}){1,5}|\d{1,20})(?:\.\d{0,24})?|\.\d{1,24})(?:[eE][-+]?\d{1,3})?"
    r"|[-+]?(?:nan|NaN|NAN|inf|Inf|INF|Infinity)\b)"
)
_BEFORE = 48  # characters that a match begins before its word, at most
_ZEROS = str.maketrans("123456789", "0" * 9)
_SCALES = {"k": 1e3, "m": 1e6, "g": 1e9, "b": 1e9}


class Column(NamedTuple):
    """Hold one spelling of a column. A line without any of `words` has none, which is quickly seen.

    A group `unit` of `ms` divides by 1000, a group `scale` multiplies.
    """

    name: str
    words: tuple[str, ...]
    pattern: re.Pattern[str]
    inverse: bool = False


UNITS = {
    "iteration-seconds": "s",
    "served-tokens-per-second": "tok/s",
    "tokens-per-second": "tok/s",
    "samples-per-second": "samples/s",
    "tflops": "TFLOP/s",
    "data-seconds": "s",
    "loss-scale": "",
    "grad-norm": "",
    "loss": "",
}


def _named(name: str, words: str, pattern: str, after: str = "") -> Column:
    """Return a column whose name stands before its value."""
    return Column(name, tuple(words.split("|")), re.compile(pattern + SPELLED + _NUMBER + after))


def _united(name: str, words: str, unit: str, inverse: bool = False) -> Column:
    """Return a column whose value stands before its unit."""
    return Column(name, tuple(words.split("|")), re.compile(r"(?<![\w.,])" + _NUMBER + unit), inverse)


_TIME = r"(?<![\w-])(?:(?:step|batch|iter|iteration|train_step)[ _])?[tT]im(?:e|ing)(?: in s)?"
_NOT_TOTAL = "".join(
    f"(?<!{word}[ _])"
    for word in ("elapsed", "total", "wall", "eval", "data", "load", "last", "real", "save")
)
_RATE = r"(?:/|_per_|p| per )(?:second|sec|s)(?:(?:/|_per_| per )(?:gpu|GPU|device))?\b\)?"
_SECONDS, _TOKENS, _SAMPLES = "iteration-seconds", "tokens-per-second", "samples-per-second"
_COLUMNS = (
    _named(
        _SECONDS,
        "per iteration|per_iteration",
        r"elapsed[ _]time[ _]per[ _]iteration[ _]\(?(?P<unit>ms|s)\)?",
        r"(?P<scale>[KkM])?\b",
    ),
    _named(_SECONDS, "iter time (s)", r"\biter time \(s\)"),
    _named(_SECONDS, "Batch (t)", r"\bBatch \(t\)"),
    _named(_SECONDS, "time|Time|timing", r"(?=[tTsbi])" + _NOT_TOTAL + _TIME, r"(?![\d:/-])\s?(?P<unit>ms)?"),
    _named(_SECONDS, "dt", r"(?<![\w-])dt", r"\s?(?P<unit>ms|s)\b"),
    _united(_SECONDS, "s/it|s/step|sec/step|sec/it", r" ?(?:s/it|s/step|sec/step|sec/it|s/iter)\b"),
    _united(
        _SECONDS, "it/s|step/s|steps/s|iter/s|iters/s", r" ?(?:it|steps?|iters?)/s(?:ec)?\b", inverse=True
    ),
    Column(_SECONDS, ("ups",), re.compile(r"(?<!\w)ups" + SPELLED + _NUMBER), inverse=True),
    _named("served-" + _TOKENS, "throughput", r"(?:gen(?:eration)?|Decode) throughput(?: \(token/s\))?"),
    _named(_TOKENS, "tok", r"(?<![A-Za-z])(?:tokens?|toks?)" + _RATE, r"(?P<scale>[KkMG])?\b"),
    _named(_TOKENS, "tps|tgs|wps", r"(?<!\w)(?:tps|tgs|wps)", r"(?P<scale>[KkMG])?\b"),
    _united(
        _TOKENS,
        "tokens/s|token/s|tok/s|toks/s",
        r" ?(?P<scale>[KkM])? ?(?:tokens?|toks?)/s(?:ec(?:ond)?)?\b",
    ),
    _named(_SAMPLES, "CurrSamplesPerSec", r"\bCurrSamplesPerSec"),
    _named(_SAMPLES, "SamplesPerSec", r"(?<!\w)SamplesPerSec"),
    _named(
        _SAMPLES,
        "samples|examples|images|img|seqs",
        r"(?<!\w)(?:samples|examples|images|imgs?|seqs)" + _RATE,
    ),
    Column(_SAMPLES, ("Batch (t)",), re.compile(r"\bBatch \(t\): ?[\d.]{1,20}, " + _NUMBER + "/s")),
    _united(
        _SAMPLES,
        "samples/s|images/s|image/s|imgs/s|img/s",
        r" ?(?:samples|images?|imgs?)/s(?:ec)?\b",
    ),
    _named(
        "tflops",
        "TFLOP|tflops",
        r"(?:\bTFLOPs|\(TFLOP/s/GPU\)|(?<!hardware_)\b(?:model_)?tflops(?:_per_gpu)?)",
    ),
    _named("data-seconds", "Data (t)", r"\bData \(t\)"),
    _named(
        "data-seconds",
        "data|Data",
        r"(?<![\w.-])(?:data(?:[ _-](?:wait|(?:load(?:ing)?[ _])?time))?|Data)",
        r"(?<=[\d.])(?![\d/:-])\s?(?P<unit>ms)?",
    ),
    _named("loss-scale", "reducing", r"\b(?:reducing loss scale to|reducing to)"),
    _named("loss-scale", "loss scale|loss_scale", r"\bloss[ _]scale"),
    _named("grad-norm", "norm", r"(?<![a-z])(?:global[ _])?(?:grad(?:ient)?s?[ _-]?norm|gnorm)"),
    _named(
        "loss",
        "loss|Loss",
        r"(?=[lLtramcng])(?<![\w/])(?<!val )(?<!valid )(?<!eval )(?<!test )(?<!validation )(?:(?:lm|train|"
        r"training|reduced_train|avr|avg|tr|total|mean|ce|nll|global_avg|"
        r"loss_metrics/global_avg)[ _])?[lL]oss",
    ),
)


class Cell(NamedTuple):
    """Say in which characters of a line a value stands, and what to make of it."""

    name: str
    begin: int
    end: int
    scale: float
    per: int
    inverse: bool

    def read(self, text: str) -> float | None:
        """Return the value that a line gives which has it there; None: it has no inverse."""
        value = float(text[self.begin : self.end].replace(",", "")) * self.scale / self.per
        if not self.inverse:
            return value
        return 1 / value if value else None


def read(text: str) -> tuple[Place, list[tuple[str, str, float]]] | None:
    """Return where an iteration line stands, and name, unit and value of each of its columns, each name once.

    None for any other line and one that is commented out.
    """
    return None if text.lstrip().startswith(("#", 'File "')) else read_commented(text)


def read_commented(text: str) -> tuple[Place, list[tuple[str, str, float]]] | None:
    """Return the same of a line whether it is commented out or not.

    No pattern cares which digit a digit is: lines that differ in nothing else have
    their numbers in the same places, which are looked for once.
    """
    text = text[:LONGEST]
    layout = _layout(text.translate(_ZEROS))
    if layout is None:
        return None
    spot, cells = layout
    found: dict[str, float] = {}
    for cell in cells:
        if cell.name not in found and (value := cell.read(text)) is not None:
            found[cell.name] = value
    return spot.read(text), [(name, UNITS[name], value) for name, value in found.items()]


@lru_cache(maxsize=4096)
def _layout(text: str) -> tuple[Spot, tuple[Cell, ...]] | None:
    spot = spot_in(text)
    return (spot, tuple(_cells(text, spot.kind))) if spot else None


def _cells(text: str, kind: str) -> Iterator[Cell]:
    """Yield where values stand: the first of each name, and further ones while it may have no inverse."""
    seen: set[str] = set()
    for column in _COLUMNS:
        if column.name in seen or not _belongs(column.name, kind):
            continue
        if found := _search(column, text, latest=kind == "bar"):
            groups = found.groupdict()
            scale = _SCALES.get((groups.get("scale") or "").lower(), 1.0)
            per = 1000 if groups.get("unit") == "ms" else 1
            yield Cell(column.name, *found.span("value"), scale, per, column.inverse)
            if not column.inverse:
                seen.add(column.name)


def _search(column: Column, text: str, latest: bool) -> re.Match[str] | None:
    """Search from shortly before the first of the column's words: the first match, or the latest."""
    at = min((at for word in column.words if (at := text.find(word)) >= 0), default=-1)
    if at < 0:
        return None
    begin = max(0, at - _BEFORE)
    return last_match(column.pattern, text, begin) if latest else column.pattern.search(text, begin)


def _belongs(name: str, kind: str) -> bool:
    """Tell whether such a line can have the column: a bar that averages since its start has no pace."""
    if kind == "overflow":
        return name == "loss-scale"
    if kind == "served":
        return name == "served-tokens-per-second"
    return name != "served-tokens-per-second" and (kind != "average-bar" or name != "iteration-seconds")
