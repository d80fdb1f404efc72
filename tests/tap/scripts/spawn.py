"""Two ranks by torch.multiprocessing.spawn, which sets no RANK; the second one fails. Plain PyTorch."""

import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def worker(rank: int, store: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    for _ in range(3):
        dist.all_reduce(torch.ones(5))
    if rank == 1:
        raise ValueError("no such sample")
    dist.barrier()


if __name__ == "__main__":
    mp.spawn(worker, args=(sys.argv[1],), nprocs=2)
