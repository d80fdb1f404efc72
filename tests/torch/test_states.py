"""A state goes through its description and back; what cannot be moved is refused."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from evenpace.torch import states  # noqa: E402
from evenpace.torch.moving import Move  # noqa: E402


class Part:
    """Anything with a state."""

    def __init__(self, state: dict[str, object]) -> None:
        self.state = state

    def state_dict(self) -> dict[str, object]:
        return self.state

    def load_state_dict(self, state: dict[str, object]) -> None:
        self.state = state


def through(part: Part) -> dict[str, object]:
    description, tensors = states.packed({"part": part})
    made, empty = states.unpacked(description, torch.device("cpu"))
    for tensor, source in zip(empty, tensors, strict=True):
        tensor.copy_(source)
    result: dict[str, object] = made["part"]
    return result


def test_an_optimizer_comes_through() -> None:
    module = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.1)
    module(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    before, after = optimizer.state_dict(), through(Part(optimizer.state_dict()))
    assert after["param_groups"] == before["param_groups"]
    assert after["state"].keys() == before["state"].keys()
    for index, values in before["state"].items():
        for name, value in values.items():
            assert torch.equal(after["state"][index][name], value)
            assert after["state"][index][name].dtype == value.dtype


def test_numbers_texts_and_nesting_come_through() -> None:
    state = {"a": [1, 2.5, None, True, "x"], "b": ((0.9, 0.999), {3: []}), "c": float("inf")}
    assert through(Part(state)) == state


def test_the_size_is_that_of_all_tensors() -> None:
    assert (
        states.size({"part": Part({"a": torch.zeros(3), "b": [torch.zeros(2, dtype=torch.float64)]})}) == 28
    )


def test_what_is_no_state_is_refused() -> None:
    with pytest.raises(TypeError, match="object"):
        states.packed({"part": Part({"a": object()})})


def test_only_who_changes_the_stage_gets_a_state() -> None:
    before, after = [0, 1, 2, 3], [2, 0, 1, 3]  # two stages of two replicas
    assert Move.all(before, after, 2) == [
        Move(source=2, target=0, stage=1),
        Move(source=1, target=2, stage=0),
    ]
    assert Move.all(before, [1, 0, 3, 2], 2) == []
