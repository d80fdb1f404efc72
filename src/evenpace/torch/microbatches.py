"""Micro-batches that replicas share unevenly where one is slow; gradients and samples stay the same.

A step has `total` micro-batches, numbered over all replicas: replica i takes those from the sum of the counts
before its own on. Each is scaled by D / M (D replicas, M micro-batches): averaged over replicas, the gradient
is the mean over all M, whatever the split. (The weighting is that of LB-BSP, SoCC '20.)
"""

from __future__ import annotations

import operator
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import TracebackType

import torch.distributed as dist
from torch import nn

from evenpace.torch import layouts, telling
from evenpace.torch.agreement import Agreement
from evenpace.torch.reduction import Reduction
from evenpace.torch.stopwatch import Pace, stopwatch


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """One of this replica's micro-batches: `index` of all in the step, `scale` for its mean loss.

    In the `last` of this replica gradients are averaged over replicas.
    """

    index: int
    scale: float
    last: bool
    _reduction: Reduction = field(repr=False, compare=False)

    def sync(self) -> AbstractContextManager[None]:
        """Return the context for forward and backward: gradients meet other replicas' in the last only."""
        return self._reduction.context(self.last)


@dataclass(frozen=True, slots=True)
class Share:
    """All of this replica's micro-batches of a step at once, for a pipeline's schedule: `first` and on.

    `scale` is for the mean loss of each; `changed` where there are more or fewer than in the step before.
    """

    first: int
    count: int
    scale: float
    changed: bool


class MicroBatches:
    """Share `total` micro-batches a step between replicas, evenly until evenpace has another plan.

    `group` is the process group over which replicas average gradients (of an HSDP mesh, that of its
    replicating dimension); without it each rank is a replica. Make it on all ranks, after DDP or FSDP.
    `least` is what each replica must have (of a pipeline, as many as stages).
    Raises ValueError where `model` could deadlock, or where there are fewer micro-batches than replicas.
    """

    def __init__(
        self, total: int, *, model: nn.Module, group: dist.ProcessGroup | None = None, least: int = 1
    ) -> None:
        self.total, self.least = operator.index(total), operator.index(least)
        if least < 1:
            raise ValueError("least is below 1: a replica averages its gradients in its last micro-batch")
        self._regroup(model, group)
        if total < least * len(self.replicas):
            raise ValueError(
                f"{total} micro-batches are too few for {len(self.replicas)} replicas: {least} each"
            )
        self.counts = even(total, len(self.replicas))
        self._reduction = Reduction(model)
        self._agreement = Agreement("counts", len(self.replicas), self._refuse)
        self._stopwatch, self._pace, self._steps = stopwatch(), Pace(), 0
        self._offer()

    def regroup(self, model: nn.Module, group: dist.ProcessGroup) -> None:
        """Take note that ranks have changed replicas (see `Positions`); to be called on all ranks."""
        self._regroup(model, group)
        self._offer()

    def _regroup(self, model: nn.Module, group: dist.ProcessGroup | None) -> None:
        self.replicas = layouts.replicas_of(group)
        layouts.check(model, self.replicas)
        self._own = next(i for i, ranks in enumerate(self.replicas) if dist.get_rank() in ranks)

    def _offer(self) -> None:
        if dist.get_rank() == 0:
            replicas = [list(ranks) for ranks in self.replicas]
            offer = {"total": self.total, "least": self.least, "replicas": replicas}
            telling.offer("microbatches", offer)

    def share(self) -> Share:
        """Begin a step and return this replica's micro-batches of it; every rank calls it once a step.

        For loops that hand them to a schedule: say what they took to `took`.
        """
        before = self.counts[self._own]
        self._begin()
        count = self.counts[self._own]
        first = sum(self.counts[: self._own])
        return Share(first, count, len(self.replicas) / self.total, count != before)

    def took(self, seconds: list[float]) -> None:
        """Say what each micro-batch of the step took of this rank's own time, where a schedule ran them."""
        count, (usual, each) = self.counts[self._own], self._pace.step(seconds)
        telling.tell(micro_batches=count, micro_batch_ns=usual)
        telling.share(count, each)

    def step(self) -> Iterator[MicroBatch]:
        """Begin a step and yield this replica's micro-batches of it; every rank calls it once a step."""
        share, seconds = self.share(), list[float]()
        last = share.first + share.count - 1
        for index in range(share.first, last):
            self._stopwatch.start()
            yield MicroBatch(index, share.scale, False, self._reduction)
            seconds += self._stopwatch.stop()
        # The last is not timed: it waits for other replicas.
        yield MicroBatch(last, share.scale, True, self._reduction)
        self.took(seconds)

    def token_scale(self, tokens: int) -> float:
        """Return the scale for a *sum* of losses, where the loss is a mean over the step's `tokens`.

        They are those of the whole step, of all ranks; micro-batches may then differ in size.
        """
        return (self._reduction.ranks or len(self.replicas)) / tokens

    def close(self) -> None:
        """End before the process groups do."""
        self._agreement.close()

    def __enter__(self) -> MicroBatches:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close, unless an error ends the loop: then others may not answer any more."""
        if kind is None:
            self.close()

    def _begin(self) -> None:
        began = time.perf_counter_ns()
        self._steps += 1
        telling.tell(loop_step=self._steps)
        plan = self._agreement.step()
        if plan is None:
            return
        self.counts = plan.values
        pause = time.perf_counter_ns() - began
        telling.tell(plan_step=self._steps, plan_pause_ns=pause, plan_version=plan.version)

    def _refuse(self, counts: Sequence[int]) -> str:
        """Say what is wrong with counts, nothing where they are good."""
        if min(counts) < self.least:
            return f"each replica needs {self.least} micro-batches or more"
        return "" if sum(counts) == self.total else f"{sum(counts)} micro-batches instead of {self.total}"


def even(total: int, replicas: int) -> tuple[int, ...]:
    """Return equal counts, or one more for the first replicas."""
    return tuple(total // replicas + (i < total % replicas) for i in range(replicas))
