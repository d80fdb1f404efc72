"""Record what the mock of NCCL does. Arguments: the mock's library, the ring to make."""

import ctypes
import os
import sys
from pathlib import Path

from evenpace.collect.job.rings import RingReader
from evenpace.tap.inject.evenpace_tap import layout
from evenpace.tap.inject.evenpace_tap.native import Native
from evenpace.tap.inject.evenpace_tap.ring import Ring

mock = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
mock.mock_group.restype = ctypes.c_void_p
library = Native()
group = mock.mock_group()
print("binds", library.binds(group))
mock.mock_barrier()  # not recorded: the ring is not open yet
ring = Ring(sys.argv[2], "mock", layout.TAP_NATIVE)
assert not library.open(sys.argv[1]), "a file that is no ring was taken for one"
assert library.open(ring.path)


@ctypes.CFUNCTYPE(None)
def while_waiting() -> None:
    print("waiting", RingReader(Path(ring.path)).poll()["waiting"].sum())


ctypes.c_void_p.in_dll(mock, "mock_while_waiting").value = ctypes.cast(while_waiting, ctypes.c_void_p).value
print("caught", mock.mock_operations())
child = os.fork()
if child == 0:
    mock.mock_barrier()
    os._exit(0)
os.waitpid(child, 0)
mock.mock_destroy()
assert mock.mock_group() == group
mock.mock_barrier()
library.close()
mock.mock_barrier()
