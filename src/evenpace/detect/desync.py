"""Ranks that issue other collectives than their peers: skipped, added, or of another shape.

Collectives of a group must agree in order, kind, size and root. The first sequence at which they do not is
compared across the ranks that entered it; a clear majority tells who is the odd one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

SMALLEST_MAJORITY = 2 / 3
FEWEST_RANKS = 3

# Sizes of all others may differ between ranks by right: all_to_all, gather, scatter, lists of uneven tensors.
EQUAL_BYTES = frozenset(
    {
        "broadcast",
        "all_reduce",
        "all_reduce_coalesced",
        "reduce",
        "all_gather_into_tensor",
        "reduce_scatter_tensor",
    }
)
ROOTED = frozenset({"broadcast", "reduce", "gather", "scatter"})


class Signature(NamedTuple):
    """What a rank issued: `kind` as the ring names it, size in bytes, the root's group rank or -1."""

    kind: str
    bytes: int = 0
    root: int = -1


class Difference(StrEnum):
    """How an odd rank's operations differ from the others'."""

    SKIPPED = "skipped"
    EXTRA = "extra"
    SHAPE = "shape"  # same kind, other size or root
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Say where a group first disagrees.

    `culprits` maps each odd rank to how it differs; empty where there is no clear majority. `issued` is
    what each rank issued at `sequence`; `expected` what the majority did (None without one).
    """

    group: int
    sequence: int
    culprits: Mapping[int, Difference]
    issued: Mapping[int, Signature]
    expected: Signature | None = None
    missing: tuple[str, ...] = ()


def judge(group: int, first: int, history: Mapping[int, Sequence[Signature]]) -> Disagreement | None:
    """Compare what each rank of a group issued; return the first disagreement, or None.

    `history` maps a global rank to its operations from sequence `first` on, in order; they may be of
    different length. Time: total number of operations up to the first disagreement.
    """
    streams = {rank: [_comparable(one) for one in operations] for rank, operations in history.items()}
    for offset in range(max(map(len, streams.values()), default=0)):
        issued = {rank: stream[offset] for rank, stream in streams.items() if offset < len(stream)}
        if len(set(issued.values())) > 1 and "unknown" not in {one.kind for one in issued.values()}:
            said = {rank: history[rank][offset] for rank in issued}
            return _explain(group, first, offset, streams, said)
    return None


def _comparable(one: Signature) -> Signature:
    """Keep of a signature what must agree between ranks."""
    size = one.bytes if one.kind in EQUAL_BYTES else 0
    return Signature(one.kind, size, one.root if one.kind in ROOTED else -1)


def _explain(
    group: int,
    first: int,
    offset: int,
    streams: Mapping[int, list[Signature]],
    issued: Mapping[int, Signature],
) -> Disagreement:
    at = {rank: streams[rank][offset] for rank in issued}
    expected, votes = Counter(at.values()).most_common(1)[0]
    if len(at) < FEWEST_RANKS or votes < SMALLEST_MAJORITY * len(at):
        missing = ("a clear majority among the ranks: which of them is right cannot be told",)
        return Disagreement(group, first + offset, {}, issued, None, missing)
    majority = max((streams[rank] for rank, one in at.items() if one == expected), key=len)
    culprits = {
        rank: _difference(streams[rank], majority, offset) for rank, one in at.items() if one != expected
    }
    says = next(issued[rank] for rank, one in at.items() if one == expected)
    return Disagreement(group, first + offset, culprits, issued, says)


def _difference(odd: list[Signature], majority: list[Signature], at: int) -> Difference:
    if _agree(odd[at:], _continued(majority, at)[1:]):
        return Difference.SKIPPED
    if _agree(odd[at + 1 :], majority[at:]):
        return Difference.EXTRA
    return Difference.SHAPE if odd[at].kind == majority[at].kind else Difference.OTHER


def _agree(one: Sequence[Signature], other: Sequence[Signature]) -> bool:
    """Tell whether two streams are equal as far as both go, and go anywhere."""
    common = min(len(one), len(other))
    return common > 0 and list(one[:common]) == list(other[:common])


def _continued(majority: list[Signature], at: int) -> list[Signature]:
    """Return the majority's operations from `at` on.

    Where the job got stuck right there, what follows is read from the last time that the same two
    operations came in a row.
    """
    if len(majority) > at + 1:
        return majority[at:]
    pair = majority[at - 1 : at + 1]
    for earlier in range(at - 1, 0, -1):
        if majority[earlier - 1 : earlier + 1] == pair:
            return majority[earlier : earlier + 2]
    return majority[at:]
