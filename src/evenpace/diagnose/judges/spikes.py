"""Judge steps that are slow now and then, at no fixed distance: somebody is late from time to time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from evenpace.detect.shape import Kind, shape_of
from evenpace.diagnose.formats.iterations import runs, trouble_after
from evenpace.diagnose.model import NOBODY, Case, Series, Sighting

_FEWEST, _FEWEST_SLOW = 8, 3
_MOST = 0.4  # of all steps; more are no exception
_SLOW = 1.5  # times the usual step
_STEADY = 0.15  # of the usual step, by which the others may differ
_COST = 0.15  # of the whole time, lost in slow steps
_IRREGULAR = 2.0  # times the shortest distance of slow steps: saves and evaluations come evenly
_SHOWN = 4


def judge(case: Case) -> Iterable[Sighting]:
    """Return the first series of times of a step in which single steps are far slower, unevenly."""
    for series in case.series:
        if series.name == "iteration-seconds" and not trouble_after(case, series.lines[-1]):
            for found in _of(series):
                yield found
                return


def _of(series: Series) -> Iterator[Sighting]:
    for run in runs(series):
        values = np.array(series.values[run.start : run.stop])
        slow = _slow(values) if len(values) >= _FEWEST else ()
        if len(slow) and shape_of(values).kind is Kind.NONE:
            yield _sighting(series, run.start, values, [int(at) for at in slow])


def _slow(values: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return where the slow steps are: some, few, far above the rest, and at uneven distances; else none."""
    none = np.array([], dtype=np.intp)
    usual = float(np.median(values))
    if not np.isfinite(values).all() or usual <= 0:
        return none
    slow = np.flatnonzero(values > _SLOW * usual)
    others = np.delete(values, slow)
    if not _FEWEST_SLOW <= len(slow) <= _MOST * len(values) or np.ptp(others) > _STEADY * usual:
        return none
    lost = float((values[slow] - usual).sum() / values.sum())
    gaps = np.diff(slow)
    return slow if lost >= _COST and gaps.max() >= _IRREGULAR * gaps.min() else none


def _sighting(series: Series, start: int, values: NDArray[np.float64], slow: list[int]) -> Sighting:
    usual = float(np.median(values))
    captures = {
        "usual": f"{usual:.4g} {series.unit}",
        "slow": f"{float(np.median(values[slow])):.4g} {series.unit}",
        "count": str(len(slow)),
        "steps": str(len(values)),
        "percent": f"{100 * float((values[slow] - usual).sum() / values.sum()):.0f}",
    }
    before = [at - 1 for at in slow[:_SHOWN] if at]
    lines = tuple(series.lines[start + at] for at in dict.fromkeys((*slow[:_SHOWN], *before)))
    return Sighting("throughput-spikes", lines, NOBODY, (), captures)
