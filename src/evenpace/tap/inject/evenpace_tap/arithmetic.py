"""The same matrix product on every worker: how long it takes here, and whether its values are right.

On the CPU in float32. On CUDA in bfloat16, and in float8 where the GPU and torch can; timed by CUDA events.
Nothing of the training is touched: own tensors, an own generator of random numbers, the current stream. The
CUDA path was run against a torch that plays one, never on a GPU.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

from .patience import Patience

_SEED = 20240607
_CPU_SIZE, _GPU_SIZE = 1280, 4096  # rows and columns: some 30 ms on a core, 0.3 ms on a GPU
_REPETITIONS = 7
_FEWEST = 3
_AT_ONCE = 20  # products between two events: one is too short to time
_FREE_BYTES = 1 << 30  # below that a GPU's memory is left to the training
_FLOAT8 = (8, 9)  # compute capability

Timed = Callable[[], float]


def measure(seconds: float, patience: Patience) -> dict[str, Any]:
    """Return the median and the least seconds by format, and how many values were wrong.

    Each format takes about `seconds`, and at least three products. `wrong` counts values that are not finite
    or differ from those of the first product, bit by bit. Raises RuntimeError where torch does.
    """
    torch = sys.modules["torch"]
    times: dict[str, list[float]] = {}
    wrong = 0
    with torch.no_grad():
        for name, multiply, product in _products(torch):
            multiply()  # the first also loads and chooses kernels
            first = product.clone()
            wrong += int((~torch.isfinite(first)).sum())
            limit, times[name] = Patience(patience.left(seconds)), []
            while len(times[name]) < _REPETITIONS and not (len(times[name]) >= _FEWEST and _over(limit)):
                times[name].append(multiply())
                wrong += _different(torch, product, first)
    return {
        "times": {name: median(some) for name, some in times.items()},
        "least": {name: min(some) for name, some in times.items()},
        "wrong": wrong,
    }


def hardware() -> str:
    """Return what the measurement runs on: workers with the same word are comparable."""
    torch = sys.modules["torch"]
    if _on_gpu(torch):
        return str(torch.cuda.get_device_name())
    return f"cpu, threads {torch.get_num_threads()}"


def at_once() -> int:
    """Return how many workers of this node can measure without taking each other's cores; 0: any number."""
    import os

    torch = sys.modules["torch"]
    return 0 if _on_gpu(torch) else max(len(os.sched_getaffinity(0)) // torch.get_num_threads(), 1)


def _on_gpu(torch: Any) -> bool:
    return bool(torch.cuda.is_available() and torch.cuda.is_initialized())


def _products(torch: Any) -> Iterator[tuple[str, Timed, Any]]:
    """Yield each format's name, a function that multiplies and returns the seconds, and where to."""
    if _on_gpu(torch):
        if not torch.cuda.is_current_stream_capturing() and torch.cuda.mem_get_info()[0] >= _FREE_BYTES:
            yield from _on_cuda(torch)
        return
    left, right = _random(torch, _CPU_SIZE, "cpu", torch.float32)
    product = torch.empty_like(left)
    yield "float32", lambda: _timed(lambda: torch.mm(left, right, out=product)), product


def _on_cuda(torch: Any) -> Iterator[tuple[str, Timed, Any]]:
    device = f"cuda:{torch.cuda.current_device()}"
    left, right = _random(torch, _GPU_SIZE, device, torch.bfloat16)
    product = torch.empty_like(left)
    yield "bf16", lambda: _timed_on_gpu(torch, lambda: torch.mm(left, right, out=product)), product
    able = hasattr(torch, "_scaled_mm") and hasattr(torch, "float8_e4m3fn")
    if able and torch.cuda.get_device_capability() >= _FLOAT8:
        yield "fp8", *_float8(torch, left, right, device, product)


def _float8(torch: Any, left: Any, right: Any, device: str, product: Any) -> tuple[Timed, Any]:
    one = torch.ones((), device=device, dtype=torch.float32)
    left, right = left.to(torch.float8_e4m3fn), right.to(torch.float8_e4m3fn).t()  # the second by columns

    def multiply() -> None:
        torch._scaled_mm(left, right, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, out=product)

    return lambda: _timed_on_gpu(torch, multiply), product


def _random(torch: Any, size: int, device: str, dtype: Any) -> tuple[Any, Any]:
    generator = torch.Generator(device=device).manual_seed(_SEED)
    made = [torch.randn(size, size, generator=generator, device=device, dtype=dtype) for _ in range(2)]
    return made[0], made[1]


def _timed(multiply: Callable[[], Any]) -> float:
    began = time.perf_counter()
    multiply()
    return time.perf_counter() - began


def _timed_on_gpu(torch: Any, multiply: Callable[[], Any]) -> float:
    began, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    began.record()
    for _ in range(_AT_ONCE):
        multiply()
    ended.record()
    ended.synchronize()
    return float(began.elapsed_time(ended)) / 1000 / _AT_ONCE


def _different(torch: Any, product: Any, first: Any) -> int:
    return 0 if torch.equal(product, first) else int((product != first).sum())


def _over(limit: Patience) -> bool:
    try:
        limit.left()
    except TimeoutError:
        return True
    return False
