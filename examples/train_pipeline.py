"""Train a tiny GPT as a pipeline (1F1B), one stage per rank, on CPUs.

torchrun --nproc-per-node=4 train_pipeline.py --steps 200 --checkpoint-dir checkpoints
"""

from __future__ import annotations

from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

import checkpoints
import data
from journal import Journal, options
from model import GPT, next_token_loss


def stage_of(gpt: GPT, rank: int, world_size: int) -> nn.Sequential:
    """Return this rank's share of the layers; the first stage embeds, the last one has the head."""
    share = len(gpt.blocks) // world_size
    parts: list[nn.Module] = list(gpt.blocks[rank * share : (rank + 1) * share])
    if rank == 0:
        parts.insert(0, gpt.embedding)
    if rank == world_size - 1:
        parts.append(gpt.head)
    return nn.Sequential(*parts)


def save(folder: Path, step: int, stage: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Write a checkpoint that continues at `step`: every rank its stage, rank 0 the manifest."""
    rank = dist.get_rank()
    aside = folder / f".step-{step:08d}.tmp"
    if rank == 0:
        aside = checkpoints.aside(folder, step)
    dist.barrier()
    torch.save({"stage": stage.state_dict(), "optimizer": optimizer.state_dict()}, aside / f"stage{rank}.pt")
    dist.barrier()
    if rank == 0:
        checkpoints.publish(aside, step)


def load(folder: Path | None, stage: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Load the newest complete checkpoint, if there is one; return the step to continue at."""
    found = checkpoints.newest(folder) if folder else None
    if not found:
        return 0
    step, path = found
    state = torch.load(path / f"stage{dist.get_rank()}.pt", weights_only=True)
    stage.load_state_dict(state["stage"])
    optimizer.load_state_dict(state["optimizer"])
    print(f"continuing at step {step} from {path}", flush=True)
    return step


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--micro-batches", type=int, default=4)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    dist.init_process_group("gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    last = rank == world_size - 1

    stage = stage_of(GPT(args.layers, args.width, args.length), rank, world_size)
    schedule = Schedule1F1B(
        PipelineStage(stage, rank, world_size, torch.device("cpu")),
        n_microbatches=args.micro_batches,
        loss_fn=next_token_loss,
    )
    optimizer = torch.optim.AdamW(stage.parameters(), lr=1e-3)
    first_step = load(args.checkpoint_dir, stage, optimizer)
    # Every stage reads the whole batch: the first needs the tokens, the last the targets.
    sampler = data.StepSampler(steps=args.steps, first_step=first_step, batch=args.batch, seed=args.seed)
    batches = data.loader(sampler, args.length, args.read_ms)
    journal = Journal(rank, first_step, args.ids_log, args.timings)

    for step in range(first_step, args.steps):
        ids, tokens, targets = next(batches)
        losses: list[torch.Tensor] = []
        if rank == 0:
            schedule.step(tokens)
        elif last:
            schedule.step(target=targets, losses=losses)
        else:
            schedule.step()
        optimizer.step()
        optimizer.zero_grad()
        loss = float(torch.stack(losses).mean().detach()) if last else None
        journal.step(step, ids if rank == 0 else [], loss)
        if args.checkpoint_dir and (step + 1) % args.checkpoint_every == 0:
            save(args.checkpoint_dir, step + 1, stage, optimizer)

    journal.close()
    dist.barrier()  # nobody leaves with operations under way: Gloo can deadlock (pytorch#56297)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
