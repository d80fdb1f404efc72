"""A worker of microbatches.py: steps that sleep and meet, and what agreeing on plans takes of them."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch
import torch.distributed as dist

from evenpace.torch.agreement import Agreement


def main() -> None:
    """Make the steps; write the times of both."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--checkpoint-dir", type=Path, required=True, help="where to write the times")
    args, _ = parser.parse_known_args()
    dist.init_process_group("gloo")
    agreement = Agreement("counts", dist.get_world_size(), lambda _: "")
    gradients, took, steps = torch.zeros(100_000), [], []
    for _ in range(args.steps):
        began = time.perf_counter()
        agreement.step()
        took.append(time.perf_counter() - began)
        time.sleep(0.1)
        dist.all_reduce(gradients)
        steps.append(time.perf_counter() - began)
    agreement.close()
    path = args.checkpoint_dir / f"agreeing.{dist.get_rank()}.json"
    path.write_text(json.dumps({"agreement": took, "step": steps}))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
