"""The same matrix product on every worker: how long it takes here, and whether its values are right.

On the CPU in float32. On CUDA in bfloat16, and in float8 where the GPU and torch can; timed by CUDA events.
Nothing of the training is touched: own tensors, an own generator of random numbers, the current stream. The
CUDA path was run against a torch that plays one, never on a GPU.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

from .patience import Patience

_SEED = 20240607
_CPU_SIZE, _GPU_SIZE = 1024, 4096  # rows and columns: some 15 ms on a core, 0.3 ms on a GPU
_CPU_SECONDS = 0.08  # of products in a row: a worker that gets its time in pieces shows
_GPU_AT_ONCE, _GPU_REPETITIONS = 20, 7
_FREE_BYTES = 1 << 30  # below that a GPU's memory is left to the training
_FLOAT8 = (8, 9)  # compute capability


@dataclass
class _Product:
    """One format: `multiply` writes into `out`; `first` is what came out at the first time."""

    name: str
    multiply: Callable[[], Any]
    out: Any
    first: Any = None


class Arithmetic:
    """Measures again and again on the same numbers, and lets go of them with itself."""

    def __init__(self) -> None:
        self._torch: Any = sys.modules["torch"]
        self._gpu = _on_gpu(self._torch)
        self._products: list[_Product] | None = None

    def measure(self, patience: Patience) -> dict[str, Any]:
        """Return the seconds of one product by format, and how many values were wrong.

        `wrong` counts values that are not finite or differ from the first product's, bit by bit. Raises
        RuntimeError where torch does.
        """
        wrong, times = 0, {}
        with self._torch.no_grad():
            if self._products is None:
                wrong += self._prepare()
            for product in self._products or ():
                patience.left()
                times[product.name] = self._seconds_on_gpu(product) if self._gpu else _seconds(product)
                wrong += self._different(product)
        return {"times": times, "wrong": wrong}

    def _prepare(self) -> int:
        """Make the numbers and multiply once, which also loads the kernels; count values not finite."""
        made = _on_cuda(self._torch) if self._gpu else [_on_cpu(self._torch)]
        for product in made:
            product.multiply()
            product.first = product.out.clone()
        self._products = made
        return sum(int((~self._torch.isfinite(product.first)).sum()) for product in made)

    def _seconds_on_gpu(self, product: _Product) -> float:
        """Return the median of several rows of products."""
        took = []
        for _ in range(_GPU_REPETITIONS):
            began, ended = (self._torch.cuda.Event(enable_timing=True) for _ in range(2))
            began.record()
            for _ in range(_GPU_AT_ONCE):
                product.multiply()
            ended.record()
            ended.synchronize()
            took.append(float(began.elapsed_time(ended)) / 1000 / _GPU_AT_ONCE)
        return median(took)

    def _different(self, product: _Product) -> int:
        same = self._torch.equal(product.out, product.first)
        return 0 if same else int((product.out != product.first).sum())


def hardware() -> str:
    """Return what the measurement runs on: workers with the same word are comparable."""
    torch = sys.modules["torch"]
    if _on_gpu(torch):
        return str(torch.cuda.get_device_name())
    return f"cpu, threads {torch.get_num_threads()}"


def at_once() -> int:
    """Return how many workers of this host can measure without taking each other's cores; 0: any number."""
    torch = sys.modules["torch"]
    return 0 if _on_gpu(torch) else max(len(os.sched_getaffinity(0)) // torch.get_num_threads(), 1)


def _on_gpu(torch: Any) -> bool:
    return bool(torch.cuda.is_available() and torch.cuda.is_initialized())


def _seconds(product: _Product) -> float:
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < _CPU_SECONDS:
        product.multiply()
        count += 1
    return (time.perf_counter() - began) / count


def _on_cpu(torch: Any) -> _Product:
    left, right = _random(torch, _CPU_SIZE, "cpu", torch.float32)
    out = torch.empty_like(left)
    return _Product("float32", lambda: torch.mm(left, right, out=out), out)


def _on_cuda(torch: Any) -> list[_Product]:
    """Return what the GPU can do; nothing where its memory is full or a graph is being captured."""
    if torch.cuda.is_current_stream_capturing() or torch.cuda.mem_get_info()[0] < _FREE_BYTES:
        return []
    device = f"cuda:{torch.cuda.current_device()}"
    left, right = _random(torch, _GPU_SIZE, device, torch.bfloat16)
    out = torch.empty_like(left)
    made = [_Product("bf16", lambda: torch.mm(left, right, out=out), out)]
    able = hasattr(torch, "_scaled_mm") and hasattr(torch, "float8_e4m3fn")
    if able and torch.cuda.get_device_capability() >= _FLOAT8:
        made.append(_float8(torch, left, right, device))
    return made


def _float8(torch: Any, left: Any, right: Any, device: str) -> _Product:
    one = torch.ones((), device=device, dtype=torch.float32)
    left, right = left.to(torch.float8_e4m3fn), right.to(torch.float8_e4m3fn).t()  # the second by columns
    out = torch.empty(_GPU_SIZE, _GPU_SIZE, device=device, dtype=torch.bfloat16)

    def multiply() -> None:
        torch._scaled_mm(left, right, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, out=out)

    return _Product("fp8", multiply, out)


def _random(torch: Any, size: int, device: str, dtype: Any) -> tuple[Any, Any]:
    generator = torch.Generator(device=device).manual_seed(_SEED)
    made = [torch.randn(size, size, generator=generator, device=device, dtype=dtype) for _ in range(2)]
    return made[0], made[1]
