"""Look for the store of the job at the port of the first argument."""

from __future__ import annotations

import sys
from datetime import timedelta

from torch.distributed import TCPStore

TCPStore("127.0.0.1", int(sys.argv[1]), 2, is_master=False, timeout=timedelta(seconds=2))
