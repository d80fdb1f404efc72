"""Train a little as a loop that tells what it does; print what comes back."""

import os

import torch.distributed as dist

os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0", "RANK": "0", "WORLD_SIZE": "1"}
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
from evenpace_tap import loop  # noqa: E402  there from the moment on that the worker joins

dist.barrier()
loop.set(loop_step=7, micro_batches=-3, rank=5, nothing=1)
loop.work(1234, 99)
loop.work("many", 2**70)
loop.share(12, 20_000_000)
dist.barrier()
if os.fork() == 0:
    loop.work(1)
    print("CHILD", loop.ring_path(), loop.beside(".plan"), flush=True)
    os._exit(0)
os.wait()
print("LOOP", loop.ring_path(), loop.beside(".plan"))
dist.destroy_process_group()
