"""Train in double precision with even counts and with plans, DDP and HSDP; print how far apart they end."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.functional import mse_loss
from torch.nn.parallel import DistributedDataParallel

from evenpace.tap.inject.evenpace_tap import layout
from evenpace.torch import MicroBatches, telling, work

TOTAL, SIZE, STEPS = 8, 4, 24
DDP_PLANS = {
    2: [5, 1, 1, 1],
    6: [2, 2, 2, 2],
    10: [1, 3, 2, 2],
    14: [9, 9, 9, 9],
    16: [2, 2, 2, 2],
    19: [1, 1, 1, 5],
}
HSDP_PLANS = {2: [7, 1], 8: [4, 4], 13: [3, 5]}


def sample(step: int, index: int) -> torch.Tensor:
    """Return a micro-batch: the same wherever it is trained."""
    return torch.randn(SIZE, 8, generator=torch.Generator().manual_seed(1000 * step + index))


def ring_file(suffix: str) -> Path:
    path = telling.beside(suffix)
    assert path is not None
    return path


def announce(version: int, counts: list[int]) -> None:
    path = ring_file(layout.PLAN_SUFFIX)
    aside = path.with_suffix(".new")
    aside.write_text(json.dumps({"version": version, "counts": counts}))
    aside.rename(path)


def made(layers: int = 2) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(*(nn.Sequential(nn.Linear(8, 8), nn.Tanh()) for _ in range(layers)))


def expected(model: nn.Module, step: int) -> list[torch.Tensor]:
    """Return the gradients of the whole step, computed by one."""
    alone = copy.deepcopy(model)
    alone.zero_grad()
    (sum(loss_of(alone, sample(step, index)) for index in range(TOTAL)) / TOTAL).backward()
    return [one.grad for one in alone.parameters()]


def loss_of(model: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    return mse_loss(model(batch), batch.roll(1, 1))


def train(mesh: Any, plans: dict[int, list[int]]) -> dict[str, Any]:
    """Train, and return what came out; without a mesh by DDP."""
    plain = made()
    if mesh is None:
        model: nn.Module = DistributedDataParallel(plain)
        group, part = None, slice(None)
    else:
        model = plain
        for block in plain:
            fully_shard(block, mesh=mesh)
        fully_shard(plain, mesh=mesh)
        group = mesh.get_group("replicate")
        part = slice(mesh.get_local_rank("shard"), None, mesh.size(1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    used, counts, wrong = [], [], 0.0
    with MicroBatches(TOTAL, model=model, group=group) as batches:
        for step in range(STEPS):
            if dist.get_rank() == 0 and step in plans:
                announce(step, plans[step])
            work(TOTAL * SIZE)
            right = expected(plain, step) if mesh is None else None
            of_step = []
            for micro in batches.step():
                with micro.sync():
                    (loss_of(model, sample(step, micro.index)[part]) * micro.scale).backward()
                of_step.append(micro.index)
            if right:
                pairs = zip(right, plain.parameters(), strict=True)
                wrong = max([wrong, *(float((a - b.grad).abs().max()) for a, b in pairs)])
            optimizer.step()
            optimizer.zero_grad()
            used.append(of_step)
            counts.append(list(batches.counts))
        replicas = batches.replicas
    everyone: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, used)
    firsts = [ranks[0] for ranks in replicas]
    whole = [one.full_tensor() if isinstance(one, DTensor) else one.detach() for one in model.parameters()]
    return {
        "parameters": whole,
        "counts": counts,
        "complete": all(
            sorted(i for rank in firsts for i in everyone[rank][step]) == list(range(TOTAL))
            for step in range(STEPS)
        ),
        "alike": all(everyone[rank] == everyone[ranks[0]] for ranks in replicas for rank in ranks),
        "wrong": wrong,
    }


def compare(mesh: Any, plans: dict[int, list[int]]) -> dict[str, Any]:
    even = train(mesh, {})
    uneven = train(mesh, plans)
    dist.barrier()
    if dist.get_rank() == 0:
        ring_file(layout.PLAN_SUFFIX).unlink()
    apart = max(
        float((a - b).abs().max()) for a, b in zip(even["parameters"], uneven["parameters"], strict=True)
    )
    return {name: uneven[name] for name in ("counts", "complete", "alike", "wrong")} | {"apart": apart}


def main() -> None:
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    dist.init_process_group("gloo")
    found = {"ddp": compare(None, DDP_PLANS)}
    mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    found["hsdp"] = compare(mesh, HSDP_PLANS)
    if dist.get_rank() == 0:
        print(
            json.dumps(found | {"offer": json.loads(ring_file(layout.OFFER_SUFFIX).read_text())}), flush=True
        )
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
