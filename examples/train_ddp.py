"""Train a tiny GPT with DistributedDataParallel on CPUs.

torchrun --nproc-per-node=4 train_ddp.py --steps 200 --checkpoint-dir checkpoints
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import checkpoints
import data
from journal import Journal, options
from model import GPT, next_token_loss


def save(folder: Path, step: int, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Write a checkpoint that continues at `step`."""
    aside = checkpoints.aside(folder, step)
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, aside / "state.pt")
    checkpoints.publish(aside, step)


def load(folder: Path | None, model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Load the newest complete checkpoint, if there is one; return the step to continue at."""
    found = checkpoints.newest(folder) if folder else None
    if not found:
        return 0
    step, path = found
    state = torch.load(path / "state.pt", weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    print(f"continuing at step {step} from {path}", flush=True)
    return step


def evaluate(model: nn.Module, length: int) -> float:
    """Return the loss on held-out samples, averaged over the workers."""
    _, tokens, targets = data.held_out(length)
    with torch.no_grad():
        loss = next_token_loss(model(tokens), targets)
    dist.all_reduce(loss)
    return float(loss) / dist.get_world_size()


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--accumulate", type=int, default=1, help="micro-batches a step")
    parser.add_argument("--evaluate-every", type=int, default=0, help="steps; 0: never")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    dist.init_process_group("gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()

    gpt = GPT(args.layers, args.width, args.length)
    model = DistributedDataParallel(gpt, bucket_cap_mb=0.25)
    optimizer = torch.optim.AdamW(gpt.parameters(), lr=1e-3)
    first_step = load(args.checkpoint_dir, gpt, optimizer)
    sampler = data.StepSampler(
        steps=args.steps,
        first_step=first_step,
        batch=args.batch,
        seed=args.seed,
        rank=rank,
        world_size=world_size,
        accumulate=args.accumulate,
    )
    batches = data.loader(sampler, args.length, args.read_ms)
    journal = Journal(rank, first_step, args.ids_log, args.timings)

    for step in range(first_step, args.steps):
        used, total = [], 0.0
        for micro in range(args.accumulate):
            ids, tokens, targets = next(batches)
            synchronise = micro == args.accumulate - 1
            with contextlib.nullcontext() if synchronise else model.no_sync():
                loss = next_token_loss(model(tokens), targets) / args.accumulate
                loss.backward()
            used, total = used + ids, total + float(loss.detach())
        optimizer.step()
        optimizer.zero_grad()
        journal.step(step, used, total if rank == 0 else None)
        if args.checkpoint_dir and rank == 0 and (step + 1) % args.checkpoint_every == 0:
            save(args.checkpoint_dir, step + 1, gpt, optimizer)
        if args.evaluate_every and (step + 1) % args.evaluate_every == 0:
            held_out = evaluate(gpt, args.length)
            if rank == 0:
                print(f"held out after step {step} loss {held_out:.6f}", flush=True)

    journal.close()
    dist.barrier()  # nobody leaves with operations under way: Gloo can deadlock (pytorch#56297)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
