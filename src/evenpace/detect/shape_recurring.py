"""What recurs in a series of log durations: slow growth with resets, and long iterations at one distance."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from evenpace.detect.robust import noise_of, running_median
from evenpace.detect.shape_kinds import FLOOR, Kind, Shape

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
_STARTS = 400  # spikes that are looked at for a period
_NO_INDICES: Indices = np.array([], dtype=np.intp)


def teeth(values: Array, width: int) -> Shape | None:
    """Find slow growth with sudden resets, three teeth at least."""
    smooth = running_median(values, 3)
    ahead = np.lib.stride_tricks.sliding_window_view(smooth, 3)
    drop = np.median(ahead[:-3], axis=1) - np.median(ahead[3:], axis=1)  # over points i..i+2 and i+3..i+5
    least = max(np.log(FLOOR), 5 * noise_of(values), 0.5 * float(drop.max(initial=0.0)))
    resets = _peaks(drop, least) + 3
    if len(resets) < 3:
        return None
    whole = [values[begin:end] for begin, end in pairwise(resets)]
    if np.mean([_grows(tooth, float(np.median(drop[resets - 3]))) for tooth in whole]) < 0.75:
        return None
    low = float(np.median([np.median(tooth[:3]) for tooth in whole]))
    height = float(np.median([np.median(tooth[-3:]) for tooth in whole])) - low
    period = float(np.median(np.diff(resets))) * width
    indices = tuple(int(at) * width for at in resets)
    return Shape(
        Kind.SAWTOOTH,
        float(np.exp(low)),
        float(np.exp(height)),
        0,
        len(values),
        indices,
        period,
        rate=float(np.expm1(height / period)),
    )


def _peaks(values: Array, least: float) -> Indices:
    """Return the positions of local maxima of at least `least`, five points apart."""
    found: list[int] = []
    for at in np.flatnonzero(values >= least):
        if found and at - found[-1] < 5:
            found[-1] = int(at) if values[at] > values[found[-1]] else found[-1]
        else:
            found.append(int(at))
    return np.array(found, dtype=np.intp)


def _grows(tooth: Array, height: float) -> bool:
    """Tell whether a tooth grows all along, rather than by one jump."""
    if len(tooth) < 8:
        return False
    thirds = [float(np.median(part)) for part in np.array_split(tooth, 3)]
    rises = np.diff(thirds)
    return bool(rises.min() > 0.15 * height and thirds[-1] - thirds[0] > 0.4 * height)


def periodic(logs: Array, calm: Array, spikes: Indices) -> Shape | None:
    """Find long iterations on a grid, nearly all places of which they fill; others may stand between."""
    starts = spikes[np.diff(spikes, prepend=-9) > 1][:_STARTS]
    best = max((_grid(starts, period) for period in _periods(starts)), key=len, default=_NO_INDICES)
    if len(best) < 5 or len(best) < 0.6 * len(starts):
        return None
    long = np.union1d(best, np.intersect1d(best + 1, spikes))
    level = float(np.median(calm))
    share = float(np.expm1(logs[long] - level).sum() / np.exp(logs - level).sum())
    ratio = float(np.exp(np.median(logs[best]) - level))
    period = float(np.median(np.diff(best)))
    indices = tuple(int(at) for at in best)
    return Shape(Kind.PERIODIC, float(np.exp(level)), ratio, indices[0], len(logs), indices, period, share)


def _periods(starts: Indices) -> list[int]:
    """Return the distances that occur, of spikes that stand near each other in their order."""
    gaps = np.concatenate(
        [starts[step:] - starts[:-step] for step in (1, 2, 3) if len(starts) > step] or [starts]
    )
    found, counts = np.unique(gaps[gaps >= 4], return_counts=True)
    return [int(gap) for gap in found[np.argsort(-counts, kind="stable")][:20]]


def _grid(starts: Indices, period: int) -> Indices:
    """Return the spikes on the fullest grid of a period, or none where a fifth of its places is empty."""
    near = max(1, period // 50)
    phases = starts % period
    apart = np.abs(phases[:, None] - phases[None, :])
    close = np.minimum(apart, period - apart) <= near
    on = starts[close[int(close.sum(axis=1).argmax())]]
    places = (on[-1] - on[0]) / period + 1
    crowded = len(on) > 1.1 * places
    return _NO_INDICES if len(on) < 0.8 * places or crowded else on
