"""Code each operation as one integer, so that an iteration can be recognised in the sequence of codes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

_PRIMES = tuple(np.uint64(p) for p in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
_SHIFT = np.uint64(31)
_SIGN = np.int64(-(2**63))


def mix(*columns: Integers) -> NDArray[np.uint64]:
    """Hash parallel integer columns into one (splitmix64 rounds); equal rows get equal values."""
    value = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        value = (value + column.astype(np.uint64) + _PRIMES[0]) * _PRIMES[1]
        value = (value ^ (value >> _SHIFT)) * _PRIMES[2]
        value ^= value >> _SHIFT
    return value


def encode(
    kind: Integers, nbytes: Integers, group: Integers, peer: Integers, point_to_point: NDArray[np.bool_]
) -> Integers:
    """Return one symbol an operation, the same in every call: negative for send and recv, else not.

    Columns run parallel, one row an operation. The sign is what `find_period` knows of an operation's nature.
    """
    positive = (mix(kind, nbytes, group, peer) >> np.uint64(1)).astype(np.int64)
    return np.where(point_to_point, positive | _SIGN, positive)
