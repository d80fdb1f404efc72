"""Train a few weights with every rank; one rank misbehaves at one step, in the way it was told to."""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record

GRADIENTS = 64


class BadBatch(Exception):
    """Say that a batch cannot be trained on."""


def raise_error(_: dist.ProcessGroup) -> None:
    """Fail as a program does."""
    raise BadBatch("batch 3 holds 0 tokens")


def segfault(_: dist.ProcessGroup) -> None:
    """Read from address 0, as a broken extension does."""
    ctypes.string_at(0)


def limit_memory() -> None:
    """Let this process have a little more address space than it has, as `ulimit -v` does."""
    has = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (has + (64 << 20), has + (64 << 20)))


def tensor_too_large(_: dist.ProcessGroup) -> None:
    """Ask PyTorch for more memory than there is."""
    limit_memory()
    torch.empty(1 << 32, dtype=torch.uint8)


def list_too_large(_: dist.ProcessGroup) -> None:
    """Ask Python for more memory than there is."""
    limit_memory()
    [0] * (1 << 32)


def hang(_: dist.ProcessGroup) -> None:
    """Do something else for longer than the others wait."""
    time.sleep(3600)


def other_shape(group: dist.ProcessGroup) -> None:
    """Reduce less than the others do."""
    dist.all_reduce(torch.ones(GRADIENTS // 2), group=group)


MISDEEDS: dict[str, Callable[[dist.ProcessGroup], None]] = {
    "raise": raise_error,
    "segfault": segfault,
    "tensor": tensor_too_large,
    "list": list_too_large,
    "hang": hang,
    "shape": other_shape,
}


def main() -> None:
    """Read the options, and train."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--misdeed", choices=sorted(MISDEEDS))
    parser.add_argument("--rank", type=int, default=1)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--patience", type=float, default=60, help="seconds to wait for the others in a step")
    parser.add_argument("--record", action="store_true", help="let torchrun show tracebacks in its table")
    parser.add_argument("--pids", type=Path)
    options = parser.parse_args()
    if options.record:
        record(train)(options)
    else:
        train(options)


def train(options: argparse.Namespace) -> None:
    """Join the others and train."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    dist.barrier()
    group = dist.new_group(timeout=timedelta(seconds=options.patience))
    if options.pids:
        (options.pids / f"rank{dist.get_rank()}").write_text(str(os.getpid()))
    weights = torch.ones(GRADIENTS)
    for step in range(options.steps):
        if step == 3 and dist.get_rank() == options.rank and options.misdeed:
            MISDEEDS[options.misdeed](group)
        dist.all_reduce(weights, group=group)
        weights /= dist.get_world_size()
        if dist.get_rank() == 0 and step < 20:
            print(f"step {step} loss {2.5 - step / 100:.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
