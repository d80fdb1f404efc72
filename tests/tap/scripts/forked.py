"""Make a step in a forked child while a pause is announced for it; then the same in the worker itself."""

import json
import os
import socket
from pathlib import Path

import torch
import torch.distributed as dist

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
weight = torch.nn.Parameter(torch.ones(1))
weight.grad = torch.ones(1)
optimizer = torch.optim.SGD([weight], lr=0.1)
optimizer.step()

from evenpace_tap import loop  # noqa: E402  there from the moment on that the worker joins

server = socket.socket(socket.AF_UNIX)
server.bind(path := str(Path(loop.ring_path()).parent / "probe.sock"))
server.listen()
server.settimeout(0)
Path(loop.beside(".probe")).write_text(json.dumps({"version": 1, "step": 2, "socket": path}))
if os.fork() == 0:
    optimizer.step()
    os._exit(0)
os.wait()
try:
    server.accept()
    print("CHILD came")
except BlockingIOError:
    print("CHILD passed")
server.close()  # the worker is refused, and goes on
optimizer.step()
print("WORKER went on")
dist.destroy_process_group()
