"""Published rules for finding a slowdown in iteration times, to compare with: each takes all runs at once.

A rule gets durations [runs, iterations] in seconds and returns alarms of the same shape: at which iterations
it says that the job became slower. Where a paper leaves something open, the choice that helps it was taken.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from evenpace.detect.robust import running_median

Array = NDArray[np.float64]
Alarms = NDArray[np.bool_]
WINDOW, RATIO = 10, 1.1  # of the sliding window; the smallest change that counts (Greyhound: 10 %)
WARM_UP, LEARN = 3, 10
HAZARD, LONGEST, CERTAIN = 1 / 250, 200, 0.9
RECENT = 6  # a run shorter than this is a change just now
PENALTY = 3.0  # of a change, times the log of the length
KAPPA, ALPHA = 0.01, 1.0  # of the prior: its mean counts little


def slide_window(durations: Array) -> Alarms:
    """Alarm where an iteration is 10 % above the median of the window before it (Greyhound's SlideWindow)."""
    return _onsets(durations > RATIO * _medians(durations, WINDOW))


def slide_window_median(durations: Array) -> Alarms:
    """Alarm where the median of the last 5 is 10 % above that of the window before: the kinder reading."""
    latest = np.full_like(durations, np.nan)
    latest[:, 4:] = np.median(np.lib.stride_tricks.sliding_window_view(durations, 5, axis=1), axis=2)
    before = np.roll(_medians(durations, WINDOW), 4, axis=1)
    before[:, : WINDOW + 4] = np.inf
    return _onsets(latest > RATIO * before)


def _medians(durations: Array, width: int) -> Array:
    """Return the median of the `width` values before each one; infinite where there are not as many."""
    found = np.full_like(durations, np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(durations, width, axis=1)
    found[:, WARM_UP + width :] = np.median(windows, axis=2)[:, WARM_UP:-1]
    return found


def _onsets(above: Alarms) -> Alarms:
    """Keep the first of each row of alarms."""
    first = above.copy()
    first[:, 1:] &= ~above[:, :-1]
    return first


def posterior(durations: Array) -> Array:
    """Return P(run length) after each iteration, [runs, iterations, lengths] (Adams and MacKay, 2007).

    Log durations are normal with unknown mean and variance (normal-inverse-gamma, so predictions are
    Student's), changes come at a constant rate, run lengths are truncated.
    """
    logs = np.log(durations)
    start = logs[:, WARM_UP : WARM_UP + LEARN]
    middle = np.median(start, axis=1, keepdims=True)
    spread = np.maximum(0.01, 1.4826 * np.median(np.abs(start - middle), axis=1, keepdims=True))
    lengths = np.arange(LONGEST)
    kappa, alpha = KAPPA + lengths, ALPHA + lengths / 2
    gammas = np.array([math.lgamma(a + 0.5) - math.lgamma(a) for a in alpha])
    mean, beta = np.tile(middle, LONGEST), np.tile(ALPHA * spread**2, LONGEST)
    weights = np.zeros(mean.shape)
    weights[:, 0] = 1.0
    found = np.zeros((*logs.shape, LONGEST), dtype=np.float32)
    for at in range(WARM_UP, logs.shape[1]):
        deviation = logs[:, at : at + 1] - mean
        scale = beta * (kappa + 1) / (alpha * kappa)
        likelihood = gammas - 0.5 * np.log(2 * np.pi * alpha * scale)
        likelihood = likelihood - (alpha + 0.5) * np.log1p(deviation**2 / (2 * alpha * scale))
        joint = weights * np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
        grown = np.roll(joint, 1, axis=1) * (1 - HAZARD)
        grown[:, -1] += joint[:, -1] * (1 - HAZARD)
        grown[:, 0] = joint.sum(axis=1) * HAZARD
        weights = grown / grown.sum(axis=1, keepdims=True)
        beta = np.roll(beta + kappa * deviation**2 / (2 * (kappa + 1)), 1, axis=1)
        mean = np.roll(mean + deviation / (kappa + 1), 1, axis=1)
        beta[:, :1], mean[:, :1] = ALPHA * spread**2, middle
        found[:, at] = weights
    return found


def bocd(durations: Array, verified: bool = False) -> Alarms:
    """Alarm where a change within the last few iterations is 90 % certain, and upwards.

    With P(r = 0) itself the rule of the paper never alarms under a constant hazard, so short runs are summed.
    `verified`: before and after the change must differ by 10 % as well (Greyhound's BOCD+V; medians of at
    least three instead of its means, which a single spike moves).
    """
    weights = posterior(durations)
    recent = weights[:, :, :RECENT].sum(axis=2) > CERTAIN
    recent[:, : WARM_UP + LEARN + RECENT] = False
    alarms = np.zeros(durations.shape, dtype=bool)
    needed = RATIO if verified else 1.0
    for run in range(len(durations)):
        since = WARM_UP
        for at in np.flatnonzero(recent[run]):
            change = at - int(weights[run, at, :RECENT].argmax()) + 1
            if change - since < 3:
                continue
            before, after = np.median(durations[run, since:change]), durations[run, change : at + 1]
            if len(after) < (3 if verified else 1):
                continue
            alarms[run, at] = np.median(after) > needed * before
            if not verified or abs(np.median(after) / before - 1) >= RATIO - 1:
                since = change
    return alarms


def offline(durations: Array) -> Alarms:
    """Alarm three iterations into a segment of ruptures' KernelCPD that is 5 % above the first one.

    It sees the whole run, from which spikes were clipped beforehand.
    """
    import ruptures

    alarms = np.zeros(durations.shape, dtype=bool)
    for run, logs in enumerate(np.log(durations[:, WARM_UP:])):
        noise = max(0.01, 1.4826 / np.sqrt(2) * float(np.median(np.abs(np.diff(logs)))))
        clipped = np.minimum(logs, running_median(logs, 7) + 3 * noise)
        search = ruptures.KernelCPD(kernel="linear", min_size=4).fit((clipped / noise)[:, None])
        ends = search.predict(pen=PENALTY * np.log(len(logs)))
        starts = [0, *ends[:-1]]
        levels = [float(np.median(logs[a:b])) for a, b in zip(starts, ends, strict=True)]
        for start, level in zip(starts[1:], levels[1:], strict=True):
            alarms[run, WARM_UP + start + 3] = level - levels[0] > math.log(1.05)
    return alarms


def three_of_five(durations: Array) -> Alarms:
    """Alarm where 3 of the last 5 are 10 % above the median of the first 40, which is frozen."""
    level = np.median(durations[:, WARM_UP : WARM_UP + 4 * LEARN], axis=1, keepdims=True)
    above = durations > RATIO * level
    above[:, : WARM_UP + 4 * LEARN] = False
    counts = np.cumsum(above, axis=1)
    counts[:, 5:] -= counts[:, :-5].copy()
    return _onsets(counts >= 3)
