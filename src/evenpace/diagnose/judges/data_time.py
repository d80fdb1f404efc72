"""Steps that mostly wait for data, where the iteration lines tell the time spent on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import median

from evenpace.diagnose.model import NOBODY, Case, Line, Series, Sighting

_SHARE = 0.5
_SHARE_OF_FEW = 0.8
_WHOLE = 1.02  # where data takes longer than the step, it is counted otherwise
_FEWEST = 2
_FEW = 4  # lines, from which the first is left out: it starts the loader
_SHOWN = 4


def judge(case: Case) -> Iterable[Sighting]:
    """Yield one sighting where half of the time of several steps is data time."""
    found = [sighting for data in case.series if data.name == "data-seconds" for sighting in _of(case, data)]
    return found[:1]


def _of(case: Case, data: Series) -> Iterator[Sighting]:
    whole = {
        line.number: value
        for series in case.series
        if series.name == "iteration-seconds" and series.source == data.source
        for line, value in zip(series.lines, series.values, strict=True)
    }
    shares = [
        (line, value / whole[line.number], value, whole[line.number])
        for line, value in zip(data.lines, data.values, strict=True)
        if whole.get(line.number, 0.0) > 0
    ]
    many = len(shares) >= _FEW
    shares = shares[1:] if many else shares
    each = [share for _, share, _, _ in shares]
    if len(each) < _FEWEST or not (median(each) >= _SHARE if many else min(each) >= _SHARE_OF_FEW):
        return
    if median(each) <= _WHOLE:
        yield _sighting([one for one in shares if one[1] >= _SHARE], median(each))


def _sighting(high: list[tuple[Line, float, float, float]], usual: float) -> Sighting:
    lines = [line for line, *_ in high]
    _, _, data, whole = high[0]
    captures = {"percent": f"{100 * usual:.0f}", "data": f"{data:.3g}", "whole": f"{whole:.3g}"}
    shown = dict.fromkeys((*lines[:_SHOWN], *lines[_SHOWN:][-_SHOWN:]))
    return Sighting("data-time-bound", tuple(shown), NOBODY, (), captures)
