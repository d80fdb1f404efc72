"""Queues of Kueue: which give out accelerators."""

from __future__ import annotations

from typing import Any

from evenpace.collect.kubernetes.kueue import gpu_flavors


def test_only_flavors_with_accelerators_are_named() -> None:
    groups: list[dict[str, Any]] = [
        {"coveredResources": ["cpu", "memory"], "flavors": [{"name": "cpu"}]},
        {"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": "h200"}, {"name": "h100"}]},
    ]
    assert gpu_flavors({"spec": {"resourceGroups": groups}}) == ("h200", "h100")
    assert gpu_flavors({"spec": {"resourceGroups": groups[:1]}}) == ()
    assert gpu_flavors({"spec": None}) == ()
