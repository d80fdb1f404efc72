"""Try layouts that would deadlock, and some that would not; print what is said of each."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from evenpace.torch import MicroBatches

SIZES = [3, 5, 1, 4]  # tokens of the micro-batches


def layers() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))


def normalised() -> nn.Module:
    return DistributedDataParallel(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)))


def said(make: Callable[[], Any]) -> str:
    try:
        make().close()
    except ValueError as error:
        return str(error)
    return ""


def by_tokens() -> float:
    """Return how far the gradient of a mean over tokens is from right, where micro-batches differ in size."""
    model = DistributedDataParallel(layers())
    data = torch.arange(sum(SIZES) * 4.0).reshape(-1, 4).sin()
    alone = layers()
    alone(data).square().sum(1).mean().backward()
    with MicroBatches(len(SIZES), model=model) as batches:
        for micro in batches.step():
            first = sum(SIZES[: micro.index])
            with micro.sync():
                losses = model(data[first : first + SIZES[micro.index]]).square().sum(1)
                (losses.sum() * batches.token_scale(sum(SIZES))).backward()
    pairs = zip(alone.parameters(), model.parameters(), strict=True)
    return max(float((one.grad - other.grad).abs().max()) for one, other in pairs)


def main() -> None:
    torch.set_default_dtype(torch.float64)
    dist.init_process_group("gloo")
    mesh = dist.init_device_mesh("cpu", (2,))
    sharded = fully_shard(layers(), mesh=mesh)
    solo = dist.init_device_mesh("cpu", (2, 1), mesh_dim_names=("replicate", "shard"))
    found = {
        "sharded": said(lambda: MicroBatches(4, model=sharded)),
        "normalised": said(
            lambda: MicroBatches(4, model=nn.SyncBatchNorm.convert_sync_batchnorm(normalised()))
        ),
        "few": said(lambda: MicroBatches(1, model=DistributedDataParallel(layers()))),
        "ddp": said(lambda: MicroBatches(4, model=normalised())),
        "hsdp": said(
            lambda: MicroBatches(4, model=fully_shard(layers(), mesh=solo), group=solo.get_group("replicate"))
        ),
        "tokens": by_tokens(),
    }
    if dist.get_rank() == 0:
        print(json.dumps(found), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
