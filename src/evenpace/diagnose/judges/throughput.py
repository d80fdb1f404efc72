"""Slow without an error: what the series of a job's pace look like, each shape a signature of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from evenpace.detect.shape import Kind, Shape, level_of, shape_of
from evenpace.diagnose.formats.iterations import comparisons, runs, trouble_after
from evenpace.diagnose.model import NOBODY, Case, Identity, Line, Series, Sighting

# Best first: what is counted per work done does not change with the size of a batch.
_PACES = ("tflops", "tokens-per-second", "samples-per-second", "iteration-seconds")
_SERVED = "served-tokens-per-second"
_SHOWN = 4  # lines of evidence on either side
_FEWEST = 5
_SLOW_BEFORE_A_CRASH = 30  # slow points below which a slow end is a part of the crash
_DRIFT, _TOOTH, _SHARE, _FAR = 1.1, 1.08, 0.1, 2.0
_AMONG_PEERS = 1.15
_SIGNATURES = {
    Kind.STEP: "throughput-step",
    Kind.DRIFT: "throughput-drift",
    Kind.SAWTOOTH: "throughput-sawtooth",
    Kind.PERIODIC: "throughput-periodic",
    Kind.EPISODE: "throughput-episode",
    Kind.LEVEL: "throughput-below-expected",
}


def judge(case: Case) -> Iterable[Sighting]:
    """Yield what the pace of the job shows: one sighting a shape, and the rank that lags its peers."""
    paces = _paces(case.series, case.expected[2] if case.expected else "")
    slow = list(_slow_ranks(paces))
    yield from slow
    if not slow:
        judged = (*paces, *(series for series in case.series if series.name == _SERVED))
        yield from _merged(sighting for series in judged for sighting in _shapes(case, series))
    yield from _against_comparisons(case)


def _paces(series: Iterable[Series], wanted: str = "") -> list[Series]:
    """Return one series of pace for each kind of line: the one that is `wanted`, or else that says most."""
    chosen: dict[tuple[str, int], Series] = {}
    known = [one for one in series if one.name in _PACES]
    wanted = "iteration-seconds" if wanted == "iterations-per-second" else wanted
    for one in sorted(known, key=lambda one: (one.name != wanted, _PACES.index(one.name))):
        if len(one.values) >= _FEWEST:
            chosen.setdefault((one.source, one.lines[0].number), one)
    return list(chosen.values())


def _shapes(case: Case, series: Series) -> Iterator[Sighting]:
    expected = _expected(case, series)
    served = series.name == _SERVED  # its pace is that of the requests that come
    for run in runs(series):
        if len(run) < _FEWEST:
            continue
        part = _part(series, run)
        shape = _level(part, expected) if served else shape_of(_durations(part), expected)
        if _matters(shape) and not _end_of_a_crash(case, part, shape):
            certainty = 0.4 if trouble_after(case, part.lines[-1]) else None
            yield replace(_sighting(part, shape), certainty=certainty)


def _level(series: Series, expected: tuple[float, float] | None) -> Shape:
    return level_of(_durations(series), expected) if expected else Shape()


def _part(series: Series, run: range) -> Series:
    cut = slice(run.start, run.stop)
    return replace(series, steps=series.steps[cut], values=series.values[cut], lines=series.lines[cut])


def _durations(series: Series) -> NDArray[np.float64]:
    values = np.array(series.values)
    if series.name == "iteration-seconds":
        return values
    durations = np.full(len(values), np.nan)
    durations[values > 0] = 1 / values[values > 0]
    return durations


def _expected(case: Case, series: Series) -> tuple[float, float] | None:
    """Return the expected range as durations, if it is of what this series counts."""
    if case.expected is None or not 0 < case.expected[0] <= case.expected[1]:
        return None
    low, high, counted = case.expected
    if counted == series.name == "iteration-seconds":
        return low, high
    mine = (
        "iterations-per-second" if series.name == "iteration-seconds" else series.name.removeprefix("served-")
    )
    return (1 / high, 1 / low) if counted == mine else None


def _matters(shape: Shape) -> bool:
    """Tell whether a shape costs enough to be told; checkpoints and evaluations do not."""
    least: Mapping[Kind, bool] = {
        Kind.STEP: True,
        Kind.DRIFT: shape.ratio >= _DRIFT,
        Kind.SAWTOOTH: shape.ratio >= _TOOTH,
        Kind.PERIODIC: shape.share >= _SHARE,
        Kind.EPISODE: shape.share >= _SHARE,
        Kind.LEVEL: shape.ratio > 1,
    }
    return least.get(shape.kind, False)


def _end_of_a_crash(case: Case, series: Series, shape: Shape) -> bool:
    short = shape.kind is Kind.STEP and shape.end - shape.onset < _SLOW_BEFORE_A_CRASH
    return short and trouble_after(case, series.lines[-1])


def _sighting(series: Series, shape: Shape) -> Sighting:
    slow = shape.level * shape.ratio
    captures = {
        "before": _told(series, shape.level),
        "after": _told(series, slow if shape.kind is not Kind.LEVEL else shape.level),
        "percent": f"{100 * (shape.ratio - 1):.0f}",
        "step": str(series.steps[shape.onset]),
        "period": f"{_steps_between(series) * shape.period:.0f}",
        "share": f"{100 * shape.share:.0f}",
    }
    return Sighting(_SIGNATURES[shape.kind], _evidence(series, shape), NOBODY, (), captures)


def _told(series: Series, duration: float) -> str:
    value = duration if series.name == "iteration-seconds" else 1 / duration
    return f"{value:.4g} {series.unit}"


def _steps_between(series: Series) -> float:
    return float(np.median(np.diff(series.steps))) or 1.0


def _evidence(series: Series, shape: Shape) -> tuple[Line, ...]:
    """Return the first slow lines, then the last good ones; of a long shape lines from its whole length."""
    last = len(series.lines) - 1
    slow: Iterable[int]
    good: Iterable[int]
    if shape.kind in (Kind.STEP, Kind.EPISODE):
        slow = (*range(shape.onset, min(shape.onset + _SHOWN, shape.end)),)
        good = range(max(0, shape.onset - _SHOWN), shape.onset)
    elif shape.kind is Kind.PERIODIC:
        slow, good = shape.indices[:_SHOWN], tuple(max(0, at - 1) for at in shape.indices[:_SHOWN])
    elif shape.kind is Kind.SAWTOOTH:
        slow, good = tuple(at - 1 for at in shape.indices[:_SHOWN] if at), shape.indices[:_SHOWN]
    else:
        slow, good = range(max(0, last - 2), last + 1), range(min(3, last))
    return tuple(series.lines[at] for at in dict.fromkeys((*slow, *good)))


def _merged(sightings: Iterable[Sighting]) -> Iterator[Sighting]:
    """Yield one sighting a signature: that all ranks print the same pace is not a finding each."""
    kept: dict[str, Sighting] = {}
    for sighting in sightings:
        known = kept.get(sighting.signature)
        kept[sighting.signature] = replace(known, count=known.count + 1) if known else sighting
    yield from kept.values()


def _slow_ranks(paces: list[Series]) -> Iterator[Sighting]:
    """Yield the one rank whose own pace lies apart from that of its peers over the same steps."""
    by_name: dict[str, dict[int, Series]] = {}
    for series in paces:
        if isinstance(series.printer.rank, int):
            by_name.setdefault(series.name, {})[series.printer.rank] = series
    for peers in by_name.values():
        shared = set.intersection(*(set(series.steps) for series in peers.values()))
        if len(peers) >= 4 and len(shared) >= _FEWEST:
            yield from _apart(peers, shared)


def _apart(peers: dict[int, Series], shared: set[int]) -> Iterator[Sighting]:
    paces = {rank: _median_pace(series, shared) for rank, series in peers.items()}
    slowest = max(paces, key=paces.__getitem__)
    others = np.array([pace for rank, pace in paces.items() if rank != slowest])
    usual = float(np.median(others))
    if paces[slowest] < _AMONG_PEERS * usual or np.ptp(others) > 0.3 * (paces[slowest] - usual):
        return
    series, peer = peers[slowest], peers[min(rank for rank in peers if rank != slowest)]
    step = max(shared)
    lines = (series.lines[series.steps.index(step)], peer.lines[peer.steps.index(step)])
    captures = {
        "rank": str(slowest),
        "before": _told(series, usual),
        "after": _told(series, paces[slowest]),
        "percent": f"{100 * (paces[slowest] / usual - 1):.0f}",
    }
    yield Sighting(
        "throughput-slow-rank", lines, Identity(rank=slowest).or_else(series.printer), (), captures
    )


def _median_pace(series: Series, shared: set[int]) -> float:
    durations = _durations(series)
    return float(np.nanmedian([durations[at] for at, step in enumerate(series.steps) if step in shared]))


def _against_comparisons(case: Case) -> Iterator[Sighting]:
    """Yield that the job is far slower than a line that somebody put beside it as a comparison."""
    for name, value, line in comparisons(case.lines):
        for series in case.series:
            if (
                series.name != name
                or name not in (*_PACES, _SERVED)
                or value <= 0
                or series.source != line.source
            ):
                continue
            usual = float(np.median(series.values))
            ratio = usual / value if name == "iteration-seconds" else value / max(usual, 1e-9)
            if ratio >= _FAR:
                captures = {
                    "before": f"{value:.4g} {series.unit}",
                    "after": f"{usual:.4g} {series.unit}",
                    "percent": f"{100 * (ratio - 1):.0f}",
                    "times": f"{ratio:.1f}",
                }
                lines = (*series.lines[-_SHOWN:], line)
                yield Sighting("throughput-below-comparison", lines, NOBODY, (), captures)
                return
