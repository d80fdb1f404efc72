"""The state of a stage as it goes from rank to rank: its structure as JSON, and its tensors beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

import torch

_SCALARS = (bool, int, float, str, type(None))


class Stateful(Protocol):
    """What can give its state and take another's: a module, an optimizer, a scheduler."""

    def state_dict(self) -> Mapping[str, Any]:
        """Return the state."""

    def load_state_dict(self, state_dict: Any, /) -> Any:
        """Take a state over."""


Parts = Mapping[str, Stateful]  # of a stage, by name


def size(parts: Parts) -> int:
    """Return the bytes of all tensors in the state of a stage."""
    return sum(tensor.numel() * tensor.element_size() for tensor in packed(parts)[1])


def packed(parts: Parts) -> tuple[bytes, list[torch.Tensor]]:
    """Return the state of a stage as a description and the tensors that it numbers.

    Raises TypeError where a state has something other than tensors, numbers, texts, lists and mappings.
    """
    tensors: list[torch.Tensor] = []
    states = {name: dict(part.state_dict()) for name, part in parts.items()}
    return json.dumps(_described(states, tensors)).encode(), tensors


def unpacked(description: bytes, device: torch.device) -> tuple[Any, list[torch.Tensor]]:
    """Return the states by part, and their tensors, which are empty and to be received into."""
    tensors: list[torch.Tensor] = []
    return _made(json.loads(description), tensors, device), tensors


def _described(value: Any, tensors: list[torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        tensors.append(value.detach().contiguous())
        return {"tensor": [str(value.dtype).removeprefix("torch."), list(value.shape), value.device.type]}
    if isinstance(value, _SCALARS):
        return {"scalar": value}
    if isinstance(value, Mapping):
        return {"mapping": [[_described(key, []), _described(one, tensors)] for key, one in value.items()]}
    if isinstance(value, list | tuple):
        return {type(value).__name__: [_described(one, tensors) for one in value]}
    raise TypeError(f"a state with a {type(value).__name__} cannot be moved")


def _made(described: dict[str, Any], tensors: list[torch.Tensor], device: torch.device) -> Any:
    ((kind, content),) = described.items()
    if kind == "tensor":
        name, shape, place = content
        tensor = torch.empty(shape, dtype=getattr(torch, name), device="cpu" if place == "cpu" else device)
        tensors.append(tensor)
        return tensor
    if kind == "scalar":
        return content
    if kind == "mapping":
        return {_made(key, tensors, device): _made(one, tensors, device) for key, one in content}
    made = [_made(one, tensors, device) for one in content]
    return tuple(made) if kind == "tuple" else made
