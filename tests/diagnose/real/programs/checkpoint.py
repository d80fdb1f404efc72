"""Train a step and save a checkpoint on every rank, or on one alone, to the folder of the first argument."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
rank = dist.get_rank()
weights = torch.ones(1 << 20)
dist.all_reduce(weights)
if rank == int(sys.argv[2]):
    print("saving checkpoint at iteration 100", flush=True)
    torch.save({"weights": weights}, Path(sys.argv[1]) / f"rank{rank}.pt")
dist.barrier()
