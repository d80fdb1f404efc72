"""Run an unmodified training script on N ranks of one machine, importing torch once: for benches.

python benchmarks/forkrun.py N script.py arguments...

Each rank is a fork that has its own EVENPACE_NODE. It ends as under torchrun: when one rank fails, the others
are ended, and the exit code is 1.
"""

from __future__ import annotations

import atexit
import ctypes
import importlib
import os
import signal
import socket
import sys
import time
import traceback
from pathlib import Path

import torch
import torch._dynamo
import torch.distributed
import torch.nn.parallel

GRACE = 3.0  # seconds between the first failure and the end of the others, as an agent would need

# What a script of that name will import: once, before the ranks are forked.
LAYOUTS = {
    "fsdp": ("torch.distributed.fsdp", "torch.distributed.checkpoint.state_dict"),
    "pipeline": ("torch.distributed.pipelining",),
}


def node_of(rank: int) -> str:
    """Return the name of the emulated node of a rank."""
    return f"node{rank}"


def main() -> int:
    """Fork the ranks and wait for them."""
    world_size, script, arguments = int(sys.argv[1]), sys.argv[2], sys.argv[2:]
    for name, modules in LAYOUTS.items():
        if name in script:
            for module in modules:
                importlib.import_module(module)
    torch.set_num_threads(1)
    port = free_port()
    pids = {fork(rank, world_size, port, script, arguments): rank for rank in range(world_size)}
    signal.signal(signal.SIGTERM, lambda *_: end(pids))
    return wait(pids)


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port: int = server.getsockname()[1]
    return port


def fork(rank: int, world_size: int, port: int, script: str, arguments: list[str]) -> int:
    """Start one rank; return its pid."""
    pid = os.fork()
    if pid:
        return pid
    if prefix := os.environ.get("EVENPACE_BENCH_NETNS"):
        enter_network(f"{prefix}{rank}")
    os.environ.update(
        RANK=str(rank),
        LOCAL_RANK="0",
        WORLD_SIZE=str(world_size),
        LOCAL_WORLD_SIZE="1",
        MASTER_ADDR=os.environ.get("EVENPACE_BENCH_MASTER", "127.0.0.1"),
        MASTER_PORT=str(port),
        EVENPACE_NODE=node_of(rank),
    )
    run(script, arguments)
    raise AssertionError("run never returns")


def enter_network(namespace: str) -> None:
    """Go into a network namespace that `ip netns` made (see failslow/netns.py)."""
    with Path("/run/netns", namespace).open() as handle:
        if ctypes.CDLL(None, use_errno=True).setns(handle.fileno(), 0):
            raise OSError(ctypes.get_errno(), f"cannot enter the network namespace {namespace}")


def run(script: str, arguments: list[str]) -> None:
    """Execute the script as `__main__`; never returns."""
    sys.argv = arguments
    sys.path[0] = str(Path(script).resolve().parent)
    # Globals stay alive to the end: clearing them can deadlock in ~ProcessGroupGloo (pytorch#56297).
    scope = {"__name__": "__main__", "__file__": script, "__builtins__": __builtins__}
    code = 0
    try:
        exec(compile(Path(script).read_text(), script, "exec"), scope)  # noqa: S102  what a launcher is for
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 1
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(code)


def wait(pids: dict[int, int]) -> int:
    """Wait for all ranks; after the first failure give the others GRACE seconds."""
    failed_at = 0.0
    while pids:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid in pids:
            rank = pids.pop(pid)
            if status and not failed_at:
                failed_at = time.monotonic()
                print(
                    f"rank {rank} ended with {os.waitstatus_to_exitcode(status)}", file=sys.stderr, flush=True
                )
        elif failed_at and time.monotonic() - failed_at > GRACE:
            end(pids)
            failed_at = time.monotonic()
        time.sleep(0.02)
    return 1 if failed_at else 0


def end(pids: dict[int, int]) -> None:
    """End the ranks that still run, also stopped ones."""
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception:
        traceback.print_exc()
        sys.exit(1)
