"""The state of stages goes from rank to rank in memory, all transfers at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist


@dataclass(frozen=True, slots=True)
class Move:
    """A rank (`target`) that comes to a `stage` gets its state from one (`source`) that has it."""

    source: int
    target: int
    stage: int

    @classmethod
    def all(cls, before: Sequence[int], after: Sequence[int], data: int) -> list[Move]:
        """Return the moves between two lists of positions by rank; none within a stage.

        The source is who was at the position before: so each rank sends at most once.
        """
        was_at = {position: rank for rank, position in enumerate(before)}
        return [
            cls(was_at[position], rank, position // data)
            for rank, position in enumerate(after)
            if before[rank] // data != position // data
        ]


def described(moves: Sequence[Move], own: bytes, control: dist.ProcessGroup) -> bytes:
    """Exchange the descriptions of states (`states.packed`) over a CPU group; return what comes to this rank.

    Every rank has to call it; nothing comes to one that has no move.
    """
    targets, source = _peers(moves)
    length = torch.zeros(1, dtype=torch.int64)
    _both(targets, source, torch.tensor([len(own)]), length, control)  # first how long they are
    text = torch.empty(int(length), dtype=torch.uint8)
    _both(targets, source, torch.frombuffer(bytearray(own or b"-"), dtype=torch.uint8), text, control)
    return text.numpy().tobytes()


def carried(moves: Sequence[Move], own: list[torch.Tensor], theirs: list[torch.Tensor]) -> None:
    """Send this rank's tensors and receive into others, over the default group, as the moves have it."""
    targets, source = _peers(moves)
    operations = [dist.P2POp(dist.isend, tensor, to) for to in targets for tensor in own]
    operations += [dist.P2POp(dist.irecv, tensor, source) for tensor in theirs]
    for work in dist.batch_isend_irecv(operations) if operations else ():
        work.wait()


def _peers(moves: Sequence[Move]) -> tuple[list[int], int | None]:
    """Return whom this rank sends to, and from whom it receives."""
    rank = dist.get_rank()
    source = next((move.source for move in moves if move.target == rank), None)
    return [move.target for move in moves if move.source == rank], source


def _both(
    targets: list[int], source: int | None, own: torch.Tensor, theirs: torch.Tensor, group: dist.ProcessGroup
) -> None:
    work = [dist.isend(own, to, group=group) for to in targets]
    if source is not None:
        work.append(dist.irecv(theirs, source, group=group))
    for one in filter(None, work):
        one.wait()
