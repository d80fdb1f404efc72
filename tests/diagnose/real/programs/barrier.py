"""Meet at a monitored barrier, to which one rank does not come."""

from __future__ import annotations

import sys
import time
from datetime import timedelta

import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
dist.barrier()
if dist.get_rank() == int(sys.argv[1]):
    time.sleep(3600)
dist.monitored_barrier(timeout=timedelta(seconds=2))
