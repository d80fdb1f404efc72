"""A synthetic corpus whose order depends on the step alone, never on the number of workers or on restarts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from model import VOCABULARY

Batch = tuple[list[int], Tensor, Tensor]  # sample ids, tokens, next tokens


class Corpus(Dataset[Batch]):
    """Sample `i` is always the same text: arithmetic sequences that a model can learn.

    `read_ms` is what the storage takes to deliver a batch (simulated).
    """

    def __init__(self, length: int, read_ms: float = 0.0) -> None:
        self.length, self.read_ms = length, read_ms

    def __getitems__(self, ids: list[int]) -> Batch:
        if self.read_ms:
            time.sleep(self.read_ms / 1000)
        samples = torch.stack([self._sample(i) for i in ids])
        return ids, samples[:, :-1], samples[:, 1:]

    def _sample(self, index: int) -> Tensor:
        start, stride = index * 7919 % VOCABULARY, 1 + index * 104729 % 7
        return (start + stride * torch.arange(self.length + 1)) % VOCABULARY


def order(samples: int, seed: int) -> list[int]:
    """Return the order in which samples are trained."""
    return torch.randperm(samples, generator=torch.Generator().manual_seed(seed)).tolist()


@dataclass(kw_only=True)
class MicroBatchSampler:
    """Which samples a micro-batch of a step has, whoever trains it; `parts` workers may share it."""

    steps: int
    batch: int  # samples a step, over all workers
    micro_batches: int  # a step, over all workers
    seed: int
    part: int = 0
    parts: int = 1

    def __post_init__(self) -> None:
        if self.batch % (self.micro_batches * self.parts):
            raise SystemExit(f"--batch {self.batch} does not divide by {self.micro_batches} x {self.parts}")
        self.order = order(self.steps * self.batch, self.seed)

    def ids(self, step: int, index: int) -> list[int]:
        """Return this worker's samples of a micro-batch."""
        size = self.batch // self.micro_batches
        first = step * self.batch + index * size
        return self.order[first + self.part : first + size : self.parts]


@dataclass(kw_only=True)
class StepSampler(Sampler[list[int]]):
    """Yield this worker's share of each step's samples, micro-batch after micro-batch."""

    steps: int
    first_step: int
    batch: int  # samples a step, over all workers
    seed: int
    rank: int = 0
    world_size: int = 1
    accumulate: int = 1  # micro-batches a step

    def __post_init__(self) -> None:
        if self.batch % (self.accumulate * self.world_size):
            raise SystemExit(f"--batch {self.batch} does not divide by {self.world_size} x {self.accumulate}")
        self.order = order(self.steps * self.batch, self.seed)

    def __len__(self) -> int:
        return (self.steps - self.first_step) * self.accumulate

    def __iter__(self) -> Iterator[list[int]]:
        for step in range(self.first_step, self.steps):
            of_step = self.order[step * self.batch : (step + 1) * self.batch]
            mine = of_step[self.rank :: self.world_size]
            size = len(mine) // self.accumulate
            yield from (mine[i * size : (i + 1) * size] for i in range(self.accumulate))


def loader(sampler: StepSampler, length: int, read_ms: float) -> Iterator[Batch]:
    """Return an iterator over this worker's micro-batches."""
    return iter(DataLoader(Corpus(length, read_ms), batch_sampler=sampler, collate_fn=lambda batch: batch))


def held_out(length: int, samples: int = 8) -> Batch:
    """Return a batch that is never trained on."""
    return Corpus(length).__getitems__(list(range(10_000_000, 10_000_000 + samples)))
