"""Communication groups and pairs that do the same work, compared with each other and with their own past.

A group is suspicious where its transfers take longer than the median of its cohort (Greyhound, USENIX
ATC'25: 1.1 times), and longer than in its own healthy iterations by more than their noise. Of a collective
nothing is visible for the single links that it uses, so a group is as fine as it gets there; a send and its
receive show their pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenpace.detect.symbols import mix

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Keys = NDArray[np.uint64]

LONGER = 1.1  # times its cohort's median, and times its own healthy time
SIGNIFICANT = 5.0  # standard errors
COHORT = 3  # groups from which on a cohort's median speaks; below, a group has only its own past


@dataclass(frozen=True, slots=True)
class Instances:
    """Operations of the job, each once for all of its participants; columns of shape (operations,).

    `source` and `target` are the global ranks of a send and its receive, and -1 for collectives. `begin_ns`:
    the last participant entered, `last` (its global rank) being that one; `end_ns`: it completed. `what` is
    equal for operations of the same kind and size.
    """

    group: Integers
    source: Integers
    target: Integers
    begin_ns: Integers
    end_ns: Integers
    last: Integers
    bytes: Integers
    what: NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Traffic:
    """What groups and pairs moved in one iteration; a row each, in the order of `keys`, which name them.

    `group`, `source` and `target` as in Instances. `seconds` is the time in which at least one transfer of
    the group was under way, `bytes` what was moved, `work` a number that is equal for equal kinds and sizes.
    `row` and `last` run parallel: for each operation, its row, and the global rank that entered last.
    """

    keys: Keys
    group: Integers
    source: Integers
    target: Integers
    seconds: Array
    bytes: Integers
    work: NDArray[np.uint64]
    row: Integers
    last: Integers


def add_up(instances: Instances) -> Traffic:
    """Add the operations of an iteration up by group, and by pair."""
    keys = mix(instances.group, instances.source, instances.target)
    unique, first, row = np.unique(keys, return_index=True, return_inverse=True)
    row = row.reshape(-1).astype(np.int64)
    total = np.zeros(len(unique), np.int64)
    np.add.at(total, row, instances.bytes)
    work = np.zeros(len(unique), np.uint64)
    np.add.at(work, row, instances.what)  # a sum does not depend on the order; it may wrap around
    seconds = _union(row, instances.begin_ns, instances.end_ns, len(unique)) / 1e9
    names = (instances.group[first], instances.source[first], instances.target[first])
    return Traffic(unique, *names, seconds, total, work, row, instances.last)


def _union(row: Integers, begin: Integers, end: Integers, rows: int) -> Array:
    """Return the length of the union of each row's intervals."""
    total = np.zeros(rows)
    if not len(row):
        return total
    end = np.maximum(begin, end)
    order = np.lexsort((begin, row))
    row, begin, end = row[order], begin[order] - begin.min(), end[order] - begin.min()
    shift = row * (int(end.max()) + 1)  # rows one after the other on one line
    reach = np.maximum.accumulate(end + shift)
    before = np.concatenate(([0], reach[:-1]))
    np.add.at(total, row, np.maximum(0, end + shift - np.maximum(begin + shift, before)))
    return total


@dataclass(frozen=True, slots=True)
class Compared:
    """A group (or pair) over slow iterations; seconds an iteration.

    `expected` is the median of its cohort, or of its own healthy iterations where the cohort is small.
    `growth` is to its own healthy median. `last` entered last most often, in `share_last` of its operations.
    """

    group: int
    source: int
    target: int
    cohort: int
    seconds: float
    expected: float
    growth: float
    suspicious: bool
    bytes: int
    last: int
    share_last: float


def compare(healthy: Sequence[Traffic], slow: Sequence[Traffic]) -> list[Compared]:
    """Compare the groups and pairs that are in all slow iterations, the most grown first.

    Those that are in no healthy iteration have no past: they are only compared with their cohort.
    """
    if not slow:
        return []
    keys = slow[0].keys
    for one in slow[1:]:
        keys = np.intersect1d(keys, one.keys)
    now = np.array([_seconds(one, keys) for one in slow])
    past = np.array([_seconds(one, keys) for one in healthy if np.isin(keys, one.keys).all()])
    cohorts = _cohorts(slow[0], keys)
    seconds = np.median(now, axis=0)
    expected, comparable = _expected(seconds, cohorts)
    usual, clear = _own_past(past, now)
    expected = np.where(comparable, expected, np.where(np.isnan(usual), seconds, usual))
    odd = np.where(comparable, seconds > LONGER * expected, ~np.isnan(usual)) & clear
    last, share = _last(slow, keys)
    of_first = np.searchsorted(slow[0].keys, keys)
    found = [
        Compared(
            group=int(slow[0].group[of_first[at]]),
            source=int(slow[0].source[of_first[at]]),
            target=int(slow[0].target[of_first[at]]),
            cohort=int(cohorts[at]),
            seconds=float(seconds[at]),
            expected=float(expected[at]),
            growth=float(seconds[at] - usual[at]) if usual[at] == usual[at] else 0.0,
            suspicious=bool(odd[at]),
            bytes=int(slow[0].bytes[of_first[at]]),
            last=int(last[at]),
            share_last=float(share[at]),
        )
        for at in range(len(keys))
    ]
    return sorted(found, key=lambda one: (-one.growth, one.group, one.source, one.target))


def _seconds(traffic: Traffic, keys: Keys) -> Array:
    """Return the seconds of `keys`, all of which are there."""
    return np.asarray(traffic.seconds[np.searchsorted(traffic.keys, keys)])


def _cohorts(traffic: Traffic, keys: Keys) -> Integers:
    """Number the groups by what they do: the same work, as collectives or as pairs."""
    at = np.searchsorted(traffic.keys, keys)
    pairs = (traffic.source[at] >= 0).astype(np.uint64)
    _, cohort = np.unique(np.stack([traffic.work[at], pairs]), axis=1, return_inverse=True)
    return np.asarray(cohort.reshape(-1).astype(np.int64))


def _expected(seconds: Array, cohorts: Integers) -> tuple[Array, NDArray[np.bool_]]:
    """Return each group's cohort's median, and whether the cohort is large enough to speak."""
    expected, comparable = seconds.copy(), np.zeros(len(seconds), bool)
    for cohort in np.unique(cohorts):
        mine = cohorts == cohort
        expected[mine], comparable[mine] = np.median(seconds[mine]), np.count_nonzero(mine) >= COHORT
    return expected, comparable


def _own_past(past: Array, now: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return healthy medians (NaN without a past), and whether it takes longer now by more than the noise."""
    if not len(past):
        return np.full(now.shape[1], np.nan), np.ones(now.shape[1], bool)
    usual = np.median(past, axis=0)
    spread = 1.4826 * np.median(np.abs(past - usual), axis=0) * (1 + 2 / len(past))
    error = 1.2533 * spread * np.sqrt(1 / len(past) + 1 / len(now))
    seconds = np.median(now, axis=0)
    return usual, (seconds > LONGER * usual) & (seconds - usual >= SIGNIFICANT * error)


def _last(slow: Sequence[Traffic], keys: Keys) -> tuple[Integers, Array]:
    """Return by group the rank that entered last most often (-1: no operation), and its share."""
    row = np.concatenate([np.searchsorted(keys, one.keys[one.row]) for one in slow])
    known = np.concatenate([np.isin(one.keys[one.row], keys) for one in slow])
    pairs, counts = np.unique(
        np.stack([row[known], np.concatenate([one.last for one in slow])[known]]), axis=1, return_counts=True
    )
    last, most, total = np.full(len(keys), -1, np.int64), np.zeros(len(keys)), np.zeros(len(keys))
    np.add.at(total, pairs[0], counts)
    order = np.argsort(counts, kind="stable")  # the most frequent is written last
    last[pairs[0][order]], most[pairs[0][order]] = pairs[1][order], counts[order]
    return last, most / np.maximum(total, 1)
