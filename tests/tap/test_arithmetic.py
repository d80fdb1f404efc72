"""The piece of arithmetic of a probe: on the CPU with the real torch, on CUDA with one that plays it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from evenpace.tap.inject.evenpace_tap import arithmetic
from evenpace.tap.inject.evenpace_tap.patience import Patience

BF16, FP8, F32 = "bfloat16", "float8_e4m3fn", "float32"


class Tensor:
    """As much of a tensor as is asked for. `spoil` makes later products differ from the first."""

    def __init__(self, values: Any, dtype: str, device: str) -> None:
        self.values, self.dtype, self.device = np.asarray(values, np.float64), dtype, device

    def clone(self) -> Tensor:
        return Tensor(self.values.copy(), self.dtype, self.device)

    def to(self, dtype: str) -> Tensor:
        return Tensor(self.values, dtype, self.device)

    def t(self) -> Tensor:
        return Tensor(self.values.T, self.dtype, self.device)

    def __ne__(self, other: object) -> Any:
        assert isinstance(other, Tensor)
        return Tensor(self.values != other.values, "bool", self.device)

    __hash__ = None  # type: ignore[assignment]

    def __invert__(self) -> Tensor:
        return Tensor(~self.values.astype(bool), "bool", self.device)

    def sum(self) -> float:
        return float(self.values.sum())


class Cuda:
    """A GPU whose products take 0.5 ms; `free` bytes, compute capability, a graph being captured or not."""

    def __init__(self) -> None:
        self.free, self.capability, self.capturing, self.products = 1 << 34, (9, 0), False, 0
        cuda = self

        class Event:
            def __init__(self, enable_timing: bool) -> None:
                assert enable_timing
                self.at = -1

            def record(self) -> None:
                self.at = cuda.products

            def synchronize(self) -> None:
                assert self.at >= 0

            def elapsed_time(self, later: Any) -> float:
                return float(0.5 * (later.at - self.at))

        self.Event = Event

    def is_available(self) -> bool:
        return True

    def is_initialized(self) -> bool:
        return True

    def is_current_stream_capturing(self) -> bool:
        return self.capturing

    def mem_get_info(self) -> tuple[int, int]:
        return self.free, 1 << 36

    def current_device(self) -> int:
        return 1

    def get_device_name(self) -> str:
        return "GPU"

    def get_device_capability(self) -> tuple[int, int]:
        return self.capability


class Torch(SimpleNamespace):
    """A torch with a GPU. `wrong_at` is the product that comes out wrong; `nan` makes all so."""

    bfloat16, float8_e4m3fn, float32 = BF16, FP8, F32

    def __init__(self) -> None:
        super().__init__(cuda=Cuda(), wrong_at=-1, nan=False, seeds=[])

    @contextmanager
    def no_grad(self) -> Iterator[None]:
        yield

    def Generator(self, device: str) -> Any:  # noqa: N802  torch's name
        return SimpleNamespace(manual_seed=self.seeds.append)

    def randn(self, rows: int, columns: int, *, generator: Any, device: str, dtype: str) -> Tensor:
        return Tensor(np.ones((2, 2)), dtype, device)

    def empty_like(self, other: Tensor) -> Tensor:
        return other.clone()

    def empty(self, rows: int, columns: int, *, device: str, dtype: str) -> Tensor:
        return Tensor(np.zeros((2, 2)), dtype, device)

    def ones(self, shape: tuple[()], *, device: str, dtype: str) -> Tensor:
        return Tensor(1.0, dtype, device)

    def mm(self, left: Tensor, right: Tensor, *, out: Tensor) -> None:
        assert (left.dtype, left.device, out.dtype) == (BF16, "cuda:1", BF16)
        self._into(out, left, right)

    def _scaled_mm(
        self, left: Tensor, right: Tensor, *, scale_a: Tensor, scale_b: Tensor, out_dtype: str, out: Tensor
    ) -> None:
        assert (left.dtype, right.dtype, scale_a.dtype, scale_b.dtype) == (FP8, FP8, F32, F32)
        assert (out_dtype, out.dtype) == (BF16, BF16)
        self._into(out, left, right)

    def _into(self, out: Tensor, left: Tensor, right: Tensor) -> None:
        out.values = left.values @ right.values
        if self.nan:
            out.values[0, 0] = np.nan
        if self.cuda.products == self.wrong_at:
            out.values[1, 1] += 1
        self.cuda.products += 1

    def isfinite(self, tensor: Tensor) -> Tensor:
        return Tensor(np.isfinite(tensor.values), "bool", tensor.device)

    def equal(self, one: Tensor, other: Tensor) -> bool:
        return bool((one.values == other.values).all())


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Torch:
    """Return the torch that a worker is made to see."""
    made = Torch()
    monkeypatch.setitem(sys.modules, "torch", made)
    return made


def measure(torch: Torch) -> dict[str, Any]:
    return arithmetic.Arithmetic().measure(Patience(10))


def test_a_gpu_multiplies_in_bf16_and_fp8(torch: Torch) -> None:
    told = measure(torch)
    assert told == {"times": {"bf16": pytest.approx(0.0005), "fp8": pytest.approx(0.0005)}, "wrong": 0}
    assert (arithmetic.hardware(), arithmetic.at_once()) == ("GPU", 0)
    assert len(torch.seeds) == 1


def test_an_older_gpu_or_torch_has_no_fp8(torch: Torch) -> None:
    torch.cuda.capability = (8, 0)
    assert list(measure(torch)["times"]) == ["bf16"]


def test_a_full_gpu_and_one_that_captures_a_graph_are_left_alone(torch: Torch) -> None:
    torch.cuda.free = 1 << 20
    assert measure(torch) == {"times": {}, "wrong": 0}
    torch.cuda.free, torch.cuda.capturing = 1 << 34, True
    assert measure(torch) == {"times": {}, "wrong": 0}


def test_a_product_that_differs_from_the_first_is_wrong(torch: Torch) -> None:
    torch.wrong_at = 141  # the last of bf16, after one of each format to begin with
    assert measure(torch)["wrong"] == 1
    torch.cuda.products, torch.wrong_at = 0, 0  # the first itself
    assert measure(torch)["wrong"] == 1


def test_what_is_not_finite_is_wrong(torch: Torch) -> None:
    torch.nan = True
    assert measure(torch)["wrong"] >= 2


def test_measured_again_nothing_is_made_anew(torch: Torch) -> None:
    measuring = arithmetic.Arithmetic()
    assert measuring.measure(Patience(10)) == measuring.measure(Patience(10))
    assert len(torch.seeds) == 1


def test_no_longer_than_the_pause(torch: Torch) -> None:
    with pytest.raises(TimeoutError):
        arithmetic.Arithmetic().measure(Patience(0))


@pytest.mark.torch
def test_the_cpu_multiplies_in_float32_and_leaves_the_training_alone() -> None:
    import torch

    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    told = arithmetic.Arithmetic().measure(Patience(30))
    assert torch.equal(torch.rand(3), expected)
    assert torch.is_grad_enabled()
    assert told["wrong"] == 0
    assert 0 < told["times"]["float32"] < 10
