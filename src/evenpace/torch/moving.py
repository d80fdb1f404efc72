"""The state of stages goes from rank to rank in memory, all transfers at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from evenpace.torch import states


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


def exchange(
    moves: Sequence[Move], description: bytes, tensors: list[torch.Tensor], control: dist.ProcessGroup
) -> Any:
    """Carry out the moves that concern this rank; return the states that it received, None where none.

    `description` and `tensors` are its own state (`states.packed`). Descriptions go over `control`, a CPU
    group; tensors over the default group. Every rank has to call it.
    """
    rank = dist.get_rank()
    targets = [move.target for move in moves if move.source == rank]
    source = next((move.source for move in moves if move.target == rank), None)
    theirs = _described(targets, source, description, control)
    operations = [dist.P2POp(dist.isend, tensor, to) for to in targets for tensor in tensors]
    received = None
    if source is not None:
        received, empty = states.unpacked(theirs, _device(tensors))
        operations += [dist.P2POp(dist.irecv, tensor, source) for tensor in empty]
    if operations:
        for work in dist.batch_isend_irecv(operations):
            work.wait()
    return received


def _described(targets: list[int], source: int | None, own: bytes, control: dist.ProcessGroup) -> bytes:
    """Exchange descriptions: first how long they are."""
    length = torch.zeros(1, dtype=torch.int64)
    _both(targets, source, torch.tensor([len(own)]), length, control)
    text = torch.empty(int(length), dtype=torch.uint8)
    _both(targets, source, torch.frombuffer(bytearray(own or b"-"), dtype=torch.uint8), text, control)
    return text.numpy().tobytes()


def _both(
    targets: list[int], source: int | None, own: torch.Tensor, theirs: torch.Tensor, group: dist.ProcessGroup
) -> None:
    work = [dist.isend(own, to, group=group) for to in targets]
    if source is not None:
        work.append(dist.irecv(theirs, source, group=group))
    for one in filter(None, work):
        one.wait()


def _device(tensors: list[torch.Tensor]) -> torch.device:
    """Return where this rank keeps its state."""
    return next((one.device for one in tensors if one.device.type != "cpu"), torch.device("cpu"))
