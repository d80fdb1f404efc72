"""Logs of a made-up training run, of any size, in the formats of real programs; one node is at fault."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

STYLES = ("megatron", "torchtitan", "hf", "nanotron")
CULPRIT = 137  # the node whose GPU leaves the bus


def write(folder: Path, files: int, size: int, seed: int = 0) -> None:
    """Write about `size` bytes of logs in `files` files, one a node."""
    folder.mkdir(parents=True, exist_ok=True)
    for node in range(files):
        write_node(folder / f"node{node:03}.log", node, size // files, seed)


def write_node(path: Path, node: int, size: int, seed: int = 0) -> None:
    """Write one node's log: start, iterations with what else is printed, and the end of the job."""
    rng = random.Random(seed * 100_003 + node)  # noqa: S311
    body = "".join(_some(rng, node, count=400))
    head, tail = "".join(_start(node)), "".join(_end(node))
    with path.open("w", encoding="utf-8") as file:
        written = file.write(head)
        step = 0
        while written < size - len(tail):
            written += file.write(body.replace("@STEP@", str(step)))
            step += 1
        file.write(tail)


def _start(node: int) -> Iterator[str]:
    host = f"node{node:03}"
    for device in range(8):
        rank = node * 8 + device
        yield (
            f"{host}:{4000 + device}:{5000 + device} [{device}] NCCL INFO comm 0x55aa{rank:06x} "
            f"rank {rank} nranks 4096 cudaDev {device} nvmlDev {device} busId {device + 1:x}b000 "
            "commId 0x9f31 - Init COMPLETE\n"
        )
    yield "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default\n"


def _some(rng: random.Random, node: int, count: int) -> Iterator[str]:
    style = STYLES[node % len(STYLES)]
    for number in range(count):
        step = f"@STEP@{number:03}"
        seconds, loss = 18.2 + rng.gauss(0, 0.1), 2.4 + rng.gauss(0, 0.05)
        yield _iteration(style, step, seconds, loss)
        if number % 5 == 0:
            ring = "   ".join("07654321")
            yield f"node{node:03}:4000:5000 [0] NCCL INFO Channel {number % 32:02}/32 :    {ring}\n"
        if number % 50 == 0:
            used = f"MA {rng.random() * 60:.1f} GB"
            yield f"[2024-09-02 18:{number % 60:02}:09,730] [INFO] [utils.py:802:see_memory_usage] {used}\n"
        if number % 199 == 0:
            yield "/opt/lib/python3.11/site-packages/torch/x.py:1: UserWarning: error bars are not shown\n"


def _iteration(style: str, step: str, seconds: float, loss: float) -> str:
    if style == "megatron":
        return (
            f" iteration {step:>8}/  240000 | consumed samples:     13062144 | "
            f"elapsed time per iteration (ms): {seconds * 1000:.1f} | learning rate: 1.204E-04 | "
            f"global batch size:   768 | lm loss: {loss:.6E} | loss scale: 262144.0 | grad norm: 0.914 | "
            "number of skipped iterations:   0 | number of nan iterations:   0 |\n"
        )
    if style == "torchtitan":
        return (
            f"[rank0]:2024-09-02 18:44:10,552 - root - INFO - step: {step}  loss: {loss:7.4f}  "
            f"memory: 60.81GiB(64.01%)  tps: {250000 / seconds:,.0f}  tflops: 398.12  mfu: 40.25%\n"
        )
    if style == "hf":
        return f"{{'loss': {loss:.4f}, 'grad_norm': 0.8812, 'learning_rate': 1.2044e-05, 'epoch': 1.81}}\n"
    return (
        f"09/02/2024 18:44:10 [INFO|DP=0|PP=0|TP=0|node]: iteration: {step} / 240000 | "
        f"consumed_tokens: 1.2G | elapsed_time_per_iteration_ms: {seconds * 1000:.0f} | "
        f"tokens_per_sec: 13.6K | lm_loss: {loss:.2f} | lr: 0.0003\n"
    )


def _end(node: int) -> Iterator[str]:
    if node == CULPRIT:
        yield (
            f"Mar 14 06:20:33 node{node:03} kernel: [  164.017760] NVRM: Xid (PCI:0000:3e:00): 79, "
            "pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"
        )
        yield "[rank1099]: torch.AcceleratorError: CUDA error: unspecified launch failure\n"
        return
    for device in range(8):
        rank = node * 8 + device
        yield (
            f"[rank{rank}]:[E314 06:30:34.118603447 ProcessGroupNCCL.cpp:607] [Rank {rank}] Watchdog caught "
            "collective operation timeout: WorkNCCL(SeqNum=2240, OpType=ALLREDUCE, NumelIn=31457280, "
            f"NumelOut=31457280, Timeout(ms)=600000) ran for 60002{device} milliseconds before timing out.\n"
        )
