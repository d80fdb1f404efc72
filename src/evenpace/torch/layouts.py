"""Who is a replica, and which layouts let replicas have different numbers of micro-batches.

Within a replica every rank does the same number of them: what is sharded over ranks (FSDP, ZeRO-3) is
gathered in every micro-batch, and a rank with one micro-batch more would wait for the others for ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DTensor

from evenpace.torch.reduction import is_fsdp1

Replicas = tuple[tuple[int, ...], ...]


def replicas_of(group: dist.ProcessGroup | None) -> Replicas:
    """Return the global ranks of each replica: replica i has all ranks that are number i in their `group`.

    `group` is the one over which replicas average gradients; without it each rank is a replica. Collective.
    """
    own = torch.tensor([dist.get_rank() if group is None else dist.get_rank(group)])
    places = [torch.zeros_like(own) for _ in range(dist.get_world_size())]
    ours = dist.new_group(backend="gloo")
    dist.all_gather(places, own, group=ours)
    dist.destroy_process_group(ours)
    members: dict[int, list[int]] = {}
    for rank, place in enumerate(places):
        members.setdefault(int(place), []).append(rank)
    return tuple(tuple(members[place]) for place in sorted(members))


def check(model: nn.Module, replicas: Replicas) -> None:
    """Raise ValueError where ranks of different replicas meet within a micro-batch of `model`."""
    rank = dist.get_rank()
    own = next(replica for replica in replicas if rank in replica)
    for name, kind, ranks in _meetings(model):
        if not set(ranks) <= set(own):
            raise ValueError(
                f"uneven micro-batches would deadlock: {name or 'the model'} is {kind} over ranks "
                f"{_said(ranks)}, which meet in every micro-batch, but rank {rank}'s replica is {_said(own)} "
                "only. Make such a set of ranks one replica: for FSDP2 a mesh of two dimensions, "
                'init_device_mesh(..., mesh_dim_names=("replicate", "shard")), and '
                'MicroBatches(..., group=mesh.get_group("replicate"))'
            )


def _meetings(model: nn.Module) -> Iterator[tuple[str, str, Sequence[int]]]:
    """Yield what has ranks meet in every micro-batch: its name, what it is, the global ranks."""
    for name, parameter in model.named_parameters():
        if isinstance(parameter, DTensor):
            mesh = parameter.device_mesh
            for dimension, placement in enumerate(parameter.placements):
                if not placement.is_replicate():
                    yield name, "sharded", dist.get_process_group_ranks(mesh.get_group(dimension))
    for name, module in model.named_modules():
        if isinstance(module, nn.SyncBatchNorm):
            group = module.process_group or dist.group.WORLD
            yield name, "normalised", dist.get_process_group_ranks(group)
        elif is_fsdp1(module) and module.sharding_strategy.name != "NO_SHARD":
            yield name, "sharded", dist.get_process_group_ranks(module.process_group)


def _said(ranks: Sequence[int]) -> str:
    few = ", ".join(str(rank) for rank in ranks[:8])
    return f"{few}, ... ({len(ranks)})" if len(ranks) > 8 else few
