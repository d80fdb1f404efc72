"""A job of a single rank that ends as its argument says. Plain PyTorch."""

import os
import signal
import sys
import tempfile

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


class Stepper(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, place: int) -> torch.Tensor:
        return torch.ones(2) * place


def main(ending: str) -> None:
    with tempfile.NamedTemporaryFile() as store:
        dist.init_process_group("gloo", init_method=f"file://{store.name}", rank=0, world_size=1)
    try:
        dist.all_to_all_single(torch.empty(2), torch.ones(2), [5], [2])
    except (RuntimeError, ValueError):
        print("REFUSED", flush=True)
    total = torch.zeros(2)
    for batch in DataLoader(Stepper(), num_workers=1, multiprocessing_context="fork"):
        total += batch[0]
        dist.all_reduce(total)
    print("LOSS", total.sum().item(), flush=True)
    if ending == "raise":
        raise ValueError("the loss is not a number")
    if ending == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    sys.exit(int(ending))


if __name__ == "__main__":
    main(sys.argv[1])
