"""When gradients meet those of other replicas: in the last micro-batch of a step only."""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager
from typing import Any

import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel


class Reduction:
    """Hold a model's gradients back from other replicas: DistributedDataParallel, FSDP and FSDP2.

    A model without any of them reduces by itself.
    """

    def __init__(self, model: nn.Module) -> None:
        modules: list[Any] = list(model.modules())
        self._fsdp2 = [module for module in modules if is_fsdp2(module)]
        self._outer: Any = next((module for module in modules if is_ddp(module) or is_fsdp1(module)), None)

    def context(self, last: bool) -> AbstractContextManager[None]:
        """Return the context for forward and backward of a micro-batch, the `last` of this replica or not.

        The shards of an FSDP2 replica still reduce among themselves in each: their memory stays sharded.
        """
        for module in self._fsdp2:
            module.set_requires_all_reduce(last, recurse=False)
            module.set_is_last_backward(last)
        held: AbstractContextManager[None] = contextlib.nullcontext()
        return held if last or self._outer is None else self._outer.no_sync()

    @property
    def ranks(self) -> int | None:
        """Return over how many ranks gradients are averaged, None where that is not known."""
        if self._outer is not None and is_ddp(self._outer):
            return int(dist.get_world_size(self._outer.process_group))
        parameters = (one for module in self._fsdp2 for one in module.parameters())
        sharded = next((one for one in parameters if isinstance(one, DTensor)), None)
        return None if sharded is None else int(sharded.device_mesh.size())


def is_ddp(module: nn.Module) -> bool:
    """Tell whether it is a DistributedDataParallel."""
    return isinstance(module, DistributedDataParallel)


def is_fsdp1(module: nn.Module) -> bool:
    """Tell whether it is the older FSDP's wrapper (by name: importing it takes long)."""
    return type(module).__name__ == "FullyShardedDataParallel"


def is_fsdp2(module: nn.Module) -> bool:
    """Tell whether `fully_shard` was applied to it."""
    return hasattr(module, "set_requires_all_reduce") and hasattr(module, "set_is_last_backward")
