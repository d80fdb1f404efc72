"""Train tiny models on CPU in every layout the tap must see, and print the losses. Plain PyTorch."""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.nn.parallel import DistributedDataParallel


def model() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16))


def ddp(rank: int) -> float:
    """DDP with gradient accumulation: two micro-batches a step, the first under no_sync."""
    wrapped = DistributedDataParallel(model())
    optimizer = torch.optim.SGD(wrapped.parameters(), lr=0.1)
    generator = torch.Generator().manual_seed(rank)
    for _ in range(5):
        with wrapped.no_sync():
            wrapped(torch.randn(4, 16, generator=generator)).square().mean().backward()
        loss = wrapped(torch.randn(4, 16, generator=generator)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return loss.item()


def fsdp(rank: int) -> float:
    """FSDP2: every layer sharded."""
    sharded = model()
    mesh = dist.device_mesh.init_device_mesh("cpu", (2,))
    for layer in sharded:
        fully_shard(layer, mesh=mesh)
    fully_shard(sharded, mesh=mesh)
    optimizer = torch.optim.SGD(sharded.parameters(), lr=0.1)
    generator = torch.Generator().manual_seed(rank)
    for _ in range(3):
        loss = sharded(torch.randn(4, 16, generator=generator)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return loss.item()


def pipeline(rank: int) -> float:
    """Two stages, 1F1B, four micro-batches."""
    whole = model()
    stage = PipelineStage(whole[:2] if rank == 0 else whole[2:], rank, 2, torch.device("cpu"))
    schedule = Schedule1F1B(stage, 4, loss_fn=nn.functional.mse_loss)
    losses: list[torch.Tensor] = []
    for _ in range(3):
        generator = torch.Generator().manual_seed(7)
        batch = torch.randn(8, 16, generator=generator)
        if rank == 0:
            schedule.step(batch)
        else:
            schedule.step(target=batch, losses=losses)
    return sum(loss.item() for loss in losses)


def others(rank: int) -> float:
    """Every other collective, a second group, and batched point-to-point."""
    group = dist.new_group([0, 1])
    ones = torch.full((8,), float(rank))
    dist.all_reduce(ones, group=group)
    dist.broadcast(ones, src=1)
    dist.reduce(ones, dst=0)
    outputs = [torch.empty(8) for _ in range(2)]
    dist.all_gather(outputs, ones)
    dist.all_gather_into_tensor(torch.empty(16), ones)
    dist.gather(ones, outputs if rank == 0 else None, dst=0)
    dist.scatter(ones, outputs if rank == 1 else None, src=1)
    dist.reduce_scatter_tensor(torch.empty(4), ones)
    dist.reduce_scatter(torch.empty(8), outputs)
    dist.all_to_all_single(torch.empty(8), ones)
    dist.all_reduce(ones, async_op=True).wait()
    peer = 1 - rank
    swap = [dist.P2POp(dist.isend, ones, peer), dist.P2POp(dist.irecv, torch.empty(8), peer)]
    for work in dist.batch_isend_irecv(swap):
        work.wait()
    if rank == 0:
        dist.send(ones, 1)
    else:
        dist.recv(ones)
    dist.barrier()
    return ones.sum().item()


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    for layout in (ddp, fsdp, pipeline, others):
        # In one write: the ranks share a standard output.
        sys.stdout.write(f"LOSS {rank} {layout.__name__} {layout(rank)!r}\n")
        sys.stdout.flush()
    dist.destroy_process_group()
    store = os.environ.get(
        "JOIN_AGAIN"
    )  # a file of its own: torchrun's store still has the addresses of before
    if store:
        dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
        dist.all_reduce(torch.ones(3))
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
