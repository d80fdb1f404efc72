"""The pure-Python tap: kernels on torch's c10d dispatcher operators, which every layout passes.

It takes over where the native part cannot be built, loaded or bound. It costs tens of microseconds an
operation, and completion is seen by asking a Work (every few milliseconds) or by waiting on it: a callback
from the backend's own threads would need the GIL there, which can deadlock at teardown (pytorch issue 56297).
On CUDA tensors completion stays unknown, and the records and the ring's message say so: asking would query
CUDA events, which may not be done while another thread captures a graph. An operation that fails in the
background before anybody waits on it counts as complete, not as failed: torch warns its user when a Work is
asked for its error. Run on Gloo; never on CUDA.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

from . import layout
from .pending import Pending
from .ring import Ring

_SEND, _RECV = 1, 2


class Operator(NamedTuple):
    """How to read one operator: its kind, which argument is the message, which one the peer."""

    kind: str
    message: int | None
    peer: int | None = None
    direction: int = 0


OPERATORS = {
    "broadcast_": Operator("broadcast", 0, 2),
    "allreduce_": Operator("all_reduce", 0),
    "allreduce_coalesced_": Operator("all_reduce_coalesced", 0),
    "reduce_": Operator("reduce", 0),
    "allgather_": Operator("all_gather", 0),
    "_allgather_base_": Operator("all_gather_into_tensor", 0),
    "allgather_coalesced_": Operator("all_gather_coalesced", 0),
    "allgather_into_tensor_coalesced_": Operator("all_gather_coalesced", 0),
    "gather_": Operator("gather", 1, 3),
    "scatter_": Operator("scatter", 0, 3),
    "reduce_scatter_": Operator("reduce_scatter", 1),
    "_reduce_scatter_base_": Operator("reduce_scatter_tensor", 1),
    "reduce_scatter_tensor_coalesced_": Operator("reduce_scatter_coalesced", 1),
    "alltoall_": Operator("all_to_all", 1),
    "alltoall_base_": Operator("all_to_all_single", 1),
    "send": Operator("send", 0, 2, _SEND),
    "recv_": Operator("recv", 0, 2, _RECV),
    "recv_any_source_": Operator("recv_any_source", 0, None, _RECV),
    "barrier": Operator("barrier", None),
}


def _bytes(message: Any) -> int:
    if isinstance(message, (list, tuple)):
        return sum(map(_bytes, message))
    return int(message.numel() * message.element_size())


def _first_tensor(arguments: tuple[Any, ...]) -> Any:
    for argument in arguments[:2]:
        while isinstance(argument, (list, tuple)) and argument:
            argument = argument[0]  # noqa: PLW2901
        if hasattr(argument, "device"):
            return argument
    return None


class Dispatcher:
    """Installs the kernels. Raises whatever torch raises where it has no such operators."""

    def __init__(self, ring: Ring, distributed: ModuleType) -> None:
        self._ring = ring
        self._distributed = distributed
        self._pending = Pending(ring)
        self._sequences: dict[tuple[Any, ...], int] = {}
        self._backends: dict[tuple[str, str], Any] = {}
        self._pid = os.getpid()
        self._library: Any = None

    def install(self) -> None:
        """Put a kernel before every operator of OPERATORS that this torch has, and wrap Work.wait."""
        self._pending.start()
        torch = sys.modules["torch"]
        after = torch._C._dispatch_keyset_full_after(torch._C.DispatchKey.BackendSelect)
        self._library = torch.library.Library("c10d", "IMPL")
        for name, operator in OPERATORS.items():
            packet = getattr(torch.ops.c10d, name, None)
            if packet is not None:
                kernel = self._kernel(operator, packet.default, after)
                self._library.impl(name, kernel, "BackendSelect", with_keyset=True)
        self._wrap_wait()

    def restart(self) -> None:
        """Count from 0 again: the job has left and joined anew."""
        self._sequences.clear()
        self._backends.clear()

    def stop(self) -> None:
        """Stop asking for completions."""
        self._pending.stop()

    def _wrap_wait(self) -> None:
        work = self._distributed.Work
        original, pending = work.wait, self._pending

        def wait(self: Any, *args: Any, **kwargs: Any) -> bool:
            return pending.waited(original, self, args, kwargs)

        work.wait = wait

    def _kernel(self, operator: Operator, overload: Any, after: Any) -> Callable[..., Any]:
        redispatch = overload.redispatch

        def kernel(keys: Any, *args: Any) -> Any:
            index = self._begin(operator, args)
            if index is None:
                return redispatch(keys & after, *args)
            try:
                out = redispatch(keys & after, *args)
            except BaseException:
                self._refused(index)
                raise
            self._issued(index, args, out)
            return out

        return kernel

    def _begin(self, operator: Operator, args: tuple[Any, ...]) -> int | None:
        """Write the record, or count the operation as lost; never raise."""
        try:
            if os.getpid() != self._pid:
                return None
            entered = time.monotonic_ns()
            key, name = self._key(args)
            peer = -1 if operator.peer is None else int(args[operator.peer])
            stream = (key, name, operator.direction, peer if operator.direction else -1)
            sequence = self._sequences.get(stream, 0)
            self._sequences[stream] = sequence + 1
            size = 0 if operator.message is None else _bytes(args[operator.message])
            flags = layout.FLAG_POINT_TO_POINT if operator.direction else 0
            kind = layout.KINDS.index(operator.kind)
            thread = threading.get_native_id()
            return self._ring.append((entered, 0, 0, 0, 0, size, key, sequence, peer, kind, flags, 0, thread))
        except Exception:
            self._ring.set(lost=self._ring.get("lost") + 1)
            return None

    def _key(self, args: tuple[Any, ...]) -> tuple[int, str]:
        """Return the backend object's address, as the native part would see it, and the group's name."""
        group = self._distributed.ProcessGroup.unbox(args[1 if _is_single(args) else 2])
        tensor = _first_tensor(args)
        name = str(group.group_name)
        place = (name, str(tensor.device.type))
        kind = self._backends.get(place)
        if kind is None:
            backend = group._get_backend(tensor.device).name().upper()
            kind = self._backends[place] = self._distributed.ProcessGroup.BackendType.__members__[backend]
        return int(group._backend_id(kind)), name

    def _issued(self, index: int, args: tuple[Any, ...], out: Any) -> None:
        try:
            self._ring.update(index, "return_ns", time.monotonic_ns())
            work = self._distributed.Work.unbox(out[-1] if isinstance(out, tuple) else out)
            self._pending.add(work, index, _first_tensor(args).device.type == "cpu")
        except Exception:
            self._ring.add_flag(index, layout.FLAG_COMPLETION_UNKNOWN)

    def _refused(self, index: int) -> None:
        ended = time.monotonic_ns()
        self._ring.update(index, "return_ns", ended)
        self._ring.update(index, "complete_ns", ended)
        self._ring.add_flag(index, layout.FLAG_FAILED)


def _is_single(args: tuple[Any, ...]) -> bool:
    """Tell whether the process group follows the first argument, and not a second one of tensors."""
    return not isinstance(args[1], (list, tuple)) and not hasattr(args[1], "device")
