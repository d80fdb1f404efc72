"""Train a tiny GPT with DistributedDataParallel, where a slow worker can get fewer micro-batches.

torchrun --nproc-per-node=4 train_uneven_ddp.py --micro-batches 32 --batch 64
"""

from __future__ import annotations

import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import data
import simulated
from evenpace.torch import MicroBatches, work
from journal import Journal, options
from model import GPT, next_token_loss


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--micro-batches", type=int, default=16, help="a step, over all workers")
    parser.add_argument("--float64", action="store_true", help="compute in double precision")
    simulated.add_options(parser)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    torch.set_default_dtype(torch.float64 if args.float64 else torch.float32)
    dist.init_process_group("gloo")
    rank = dist.get_rank()

    gpt = GPT(args.layers, args.width, args.length)
    model = DistributedDataParallel(gpt)
    optimizer = torch.optim.AdamW(gpt.parameters(), lr=1e-3)
    sampler = data.MicroBatchSampler(
        steps=args.steps, batch=args.batch, micro_batches=args.micro_batches, seed=args.seed
    )
    corpus = data.Corpus(args.length, args.read_ms)
    accelerator = simulated.Accelerator(args.compute_ms, args.slow_file, rank)
    journal = Journal(rank, 0, args.ids_log, args.timings)

    with MicroBatches(args.micro_batches, model=model) as batches:
        for step in range(args.steps):
            work(args.batch * args.length)
            used, total = [], torch.zeros(())
            for micro in batches.step():
                began = time.perf_counter()
                ids, tokens, targets = corpus.__getitems__(sampler.ids(step, micro.index))
                with micro.sync():
                    loss = next_token_loss(model(tokens), targets) * micro.scale
                    accelerator.compute(began)
                    loss.backward()
                used, total = used + ids, total + loss.detach()
            optimizer.step()
            optimizer.zero_grad()
            dist.all_reduce(total)
            loss_of_step = float(total) / dist.get_world_size()
            journal.step(step, used, loss_of_step if rank == 0 else None)

    if args.checkpoint_dir and rank == 0:
        args.checkpoint_dir.mkdir(parents=True, exist_ok=True)
        torch.save(gpt.state_dict(), args.checkpoint_dir / "model.pt")
    journal.close()
    dist.barrier()  # nobody leaves with operations under way: Gloo can deadlock (pytorch#56297)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
