"""Where an iteration begins: after the longest gap in time if one stands out, else at its rarest symbol."""

from __future__ import annotations

import numpy as np

from evenpace.detect.repetition import Integers

_CLEAR_RATIO = 1.2  # of the longest gap to the second: what is not clear would differ between workers
_GAP_RATIO = 3.0  # between gaps inside and outside of bursts
_REGULAR_SHARE = 0.9


def rotate(sequence: Integers, lag: int, enter_ns: Integers | None) -> int:
    """Return the offset, 0 to `lag` - 1, of the first operation of the repetition that fills `sequence`."""
    if enter_ns is None or len(sequence) <= lag:
        return _rarest(sequence[:lag])
    gaps = np.diff(enter_ns)
    whole = len(gaps) // lag * lag
    typical = np.median(gaps[:whole].reshape(-1, lag), axis=0)
    second, longest = np.sort(typical)[-2:] if lag > 1 else (0, 0)
    if longest < _CLEAR_RATIO * second:
        return _rarest(sequence[:lag])
    return (int(typical.argmax()) + 1) % lag


def _rarest(pattern: Integers) -> int:
    """Return the offset of the rarest symbol; of several, the one whose rotation is the smallest."""
    values, count = np.unique(pattern, return_counts=True)
    places = np.flatnonzero(pattern == values[count.argmin()])
    if len(places) == 1:
        return int(places[0])
    doubled = np.concatenate([pattern, pattern])
    return int(min(places, key=lambda place: doubled[place : place + len(pattern)].tolist()))


def burst_length(enter_ns: Integers) -> tuple[int, int]:
    """Return (operations a burst, index of the first of a burst); (1, 0) where there are no equal bursts."""
    gaps = np.maximum(np.diff(enter_ns), 1)
    ordered = np.sort(gaps)[len(gaps) // 50 : len(gaps) - len(gaps) // 50]  # a pause is no burst
    ratios = ordered[1:] / ordered[:-1]
    if len(ratios) == 0 or ratios.max() < _GAP_RATIO:
        return 1, 0
    begins = np.flatnonzero(gaps > ordered[ratios.argmax()]) + 1
    sizes = np.diff(begins)
    if len(sizes) < 3:
        return 1, 0
    size = int(np.median(sizes))
    regular = (sizes == size).mean() >= _REGULAR_SHARE
    return (size, int(begins[0])) if regular and size * len(begins) > len(gaps) / 2 else (1, 0)
