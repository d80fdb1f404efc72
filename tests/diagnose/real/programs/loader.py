"""Read batches with worker processes; on one rank a worker fails in the way of the first argument."""

from __future__ import annotations

import os
import signal
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset


class Tokens(Dataset[torch.Tensor]):
    """Give sequences; one of them fails."""

    def __init__(self, misdeed: str) -> None:
        self.misdeed = misdeed

    def __len__(self) -> int:
        """Return the number of sequences."""
        return 16

    def __getitem__(self, index: int) -> torch.Tensor:
        """Return one sequence."""
        if index == 8 and self.misdeed == "raise":
            raise ValueError(f"sequence {index} is shorter than 2 tokens")
        if index == 8 and self.misdeed == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        return torch.full((1 << 16 if self.misdeed == "large" else 16,), float(index))


dist.init_process_group("gloo", timeout=timedelta(seconds=60))
misdeed = sys.argv[1] if dist.get_rank() == 1 else ""
for batch in DataLoader(Tokens(misdeed), batch_size=4, num_workers=1):
    dist.all_reduce(batch.mean())
dist.destroy_process_group()
