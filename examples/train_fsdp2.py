"""Train a tiny GPT with FSDP2 (`fully_shard`) on CPUs; checkpoints by torch.distributed.checkpoint.

torchrun --nproc-per-node=4 train_fsdp2.py --steps 200 --checkpoint-dir checkpoints
"""

from __future__ import annotations

from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import fully_shard

import checkpoints
import data
from journal import Journal, options
from model import GPT, next_token_loss


def save(folder: Path, step: int, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Write a checkpoint that continues at `step`: every rank its shards, rank 0 the manifest."""
    aside = folder / f".step-{step:08d}.tmp"
    if dist.get_rank() == 0:
        aside = checkpoints.aside(folder, step)
    dist.barrier()
    weights, moments = get_state_dict(model, optimizer)
    dcp.save({"model": weights, "optimizer": moments}, checkpoint_id=aside)
    if dist.get_rank() == 0:
        checkpoints.publish(aside, step)


def load(folder: Path | None, model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Load the newest complete checkpoint, if there is one; return the step to continue at."""
    found = checkpoints.newest(folder) if folder else None
    if not found:
        return 0
    step, path = found
    weights, moments = get_state_dict(model, optimizer)
    dcp.load({"model": weights, "optimizer": moments}, checkpoint_id=path)
    set_state_dict(model, optimizer, model_state_dict=weights, optim_state_dict=moments)
    print(f"continuing at step {step} from {path}", flush=True)
    return step


def main() -> None:
    args = options(__doc__ or "").parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    dist.init_process_group("gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()

    model = GPT(args.layers, args.width, args.length)
    mesh = dist.init_device_mesh("cpu", (world_size,))
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    first_step = load(args.checkpoint_dir, model, optimizer)
    sampler = data.StepSampler(
        steps=args.steps,
        first_step=first_step,
        batch=args.batch,
        seed=args.seed,
        rank=rank,
        world_size=world_size,
    )
    batches = data.loader(sampler, args.length, args.read_ms)
    journal = Journal(rank, first_step, args.ids_log, args.timings)

    for step in range(first_step, args.steps):
        ids, tokens, targets = next(batches)
        loss = next_token_loss(model(tokens), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        journal.step(step, ids, float(loss.detach()) if rank == 0 else None)
        if args.checkpoint_dir and (step + 1) % args.checkpoint_every == 0:
            save(args.checkpoint_dir, step + 1, model, optimizer)

    journal.close()
    dist.barrier()  # nobody leaves with operations under way: Gloo can deadlock (pytorch#56297)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
