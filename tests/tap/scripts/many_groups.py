"""Let the mock of NCCL make and destroy groups. Arguments: its library, the ring, how many, how many stay."""

import ctypes
import sys

from evenpace.tap.inject.evenpace_tap import layout
from evenpace.tap.inject.evenpace_tap.native import Native
from evenpace.tap.inject.evenpace_tap.ring import Ring

mock = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
library = Native()
ring = Ring(sys.argv[2], "mock", layout.TAP_NATIVE)
print("records", library.open(ring.path))
mock.mock_group()
mock.mock_barrier()
mock.mock_groups(int(sys.argv[3]), int(sys.argv[4]))
mock.mock_without_work()
library.close()
