"""Until when the cause of a slowness was there, while a strategy hid it from the iteration time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenpace.findings import Subject, several
from evenpace.report.iterations import Floats

Mask = NDArray[np.bool_]
_PLAIN = 1.1  # times a slow worker's healthy own time, below which its own time tells nothing
_STEADY = 5  # iterations whose median is compared


def still_slow(busy: Floats, healthy: Mask, slow: Mask, under: Mask) -> Mask:
    """Return the iterations `under` a strategy until the slow worker's own time falls back for good.

    `busy` is its own time by iteration (NaN where not known), `healthy` and `slow` mark iterations before
    the onset and between onset and strategy. Where its own time does not tell, all of `under` is returned.
    """
    places = np.flatnonzero(under)
    factor = _median(busy[slow]) / max(_median(busy[healthy]), 1e-9)
    if len(places) < _STEADY or not factor >= _PLAIN:
        return under
    begun = _median(busy[places[:_STEADY]])
    limit = begun * (1 + 1 / factor) / 2
    windows = np.lib.stride_tricks.sliding_window_view(busy[places], _STEADY)
    score = np.cumsum(np.where(np.median(windows, axis=1) >= limit, 1, -1))  # fewest windows on a wrong side
    last = int(score.argmax()) + _STEADY // 2 if score.max() > 0 else -1
    if last + _STEADY > len(places):
        return under
    found = under.copy()
    found[places[last + 1 :]] = False
    return found


def _median(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else float("nan")


def culprits(subject: Subject) -> list[int]:
    """Return the ranks that are slow in their own work by a finding's subject: none where that is a link."""
    return [] if subject.kind == "link" else list(several(subject.rank))
