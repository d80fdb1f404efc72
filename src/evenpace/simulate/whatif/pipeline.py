"""Which send belongs to which computation and which receive, from the order of a stage's operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from evenpace.errors import Problem
from evenpace.simulate.whatif.grid import Operation
from evenpace.simulate.whatif.kinds import (
    BACKWARD,
    FORWARD,
    RECEIVE_BACKWARD,
    RECEIVE_FORWARD,
    SEND_BACKWARD,
    SEND_FORWARD,
)

_Key = tuple[int, int]  # micro-batch, model chunk

# type → its computation, whether it comes after it, the other side's type, the other side's chunk from here
SIDES = {
    SEND_FORWARD: (FORWARD, True, RECEIVE_FORWARD, 1),
    RECEIVE_FORWARD: (FORWARD, False, SEND_FORWARD, -1),
    SEND_BACKWARD: (BACKWARD, True, RECEIVE_BACKWARD, -1),
    RECEIVE_BACKWARD: (BACKWARD, False, SEND_BACKWARD, 1),
}


@dataclass(slots=True)
class Transfers:
    """Indices of operations: `before` what must end first, by operation; `pairs` a send and its receive."""

    before: dict[int, list[int]] = field(default_factory=dict)
    pairs: list[tuple[int, int]] = field(default_factory=list)


def match(operations: Sequence[Operation], stages: int) -> Transfers:
    """Tie sends and receives to computations and to each other; raises Problem where they do not fit.

    `operations` are in the order of their start. Where a pipeline's transfers were not recorded at all, the
    computations of neighbouring chunks follow each other directly.
    """
    keys = _keys(operations)
    chunks = 1 + max((chunk for _, chunk in keys.values()), default=0)
    found = Transfers()
    ends: dict[tuple[str, _Key], int] = {}
    for kind in SIDES:
        for stage in range(stages):
            _tie(operations, kind, stage, keys, chunks, found, ends)
    for (kind, (mb, chunk)), at in ends.items():
        _, sends, other, step = SIDES[kind]
        peer = ends.get((other, (mb, chunk + step)))
        if sends and peer is not None:
            found.pairs.append((at, peer))
    if not ends and chunks > 1:
        _without_transfers(operations, keys, found)
    return found


def _keys(operations: Sequence[Operation]) -> dict[int, _Key]:
    """Return micro-batch and chunk of each computation; the order tells where the trace does not."""
    return {
        at: (one.mb if one.mb >= 0 else one.seq, one.chunk if one.chunk >= 0 else one.stage)
        for at, one in enumerate(operations)
        if one.type in (FORWARD, BACKWARD)
    }


def _tie(  # noqa: PLR0913, PLR0917 - what is known so far, and where to write
    operations: Sequence[Operation],
    kind: str,
    stage: int,
    keys: dict[int, _Key],
    chunks: int,
    found: Transfers,
    ends: dict[tuple[str, _Key], int],
) -> None:
    """Tie the transfers of one type at one stage to computations."""
    compute, sends, _, step = SIDES[kind]
    own = [at for at, one in enumerate(operations) if one.stage == stage and one.type == kind]
    computations = [at for at, one in enumerate(operations) if one.stage == stage and one.type == compute]
    needing = [at for at in computations if 0 <= keys[at][1] + step < chunks]
    if not own:
        return
    if len(own) not in (len(needing), len(computations)):
        raise Problem(
            f"stage {stage} has {len(own)} {kind} a step for {len(needing)} {compute} that need one; "
            "record whole steps"
        )
    targets = needing if len(own) == len(needing) else computations
    for at, target in zip(own, targets, strict=True):
        place = computations.index(target)
        if sends:
            found.before.setdefault(at, []).append(target)
        else:
            found.before.setdefault(target, []).append(at)
            if place:
                found.before.setdefault(at, []).append(computations[place - 1])
        if target in needing:
            ends[kind, keys[target]] = at


def _without_transfers(operations: Sequence[Operation], keys: dict[int, _Key], found: Transfers) -> None:
    places = {(operations[at].type, *key): at for at, key in keys.items()}
    for at, (mb, chunk) in keys.items():
        step = -1 if operations[at].type == FORWARD else 1
        source = places.get((operations[at].type, mb, chunk + step))
        if source is not None:
            found.before.setdefault(at, []).append(source)
