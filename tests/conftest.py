"""What all tests share: where the repository is, how to wait on an event, when torch is needed."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

# Machines that run tests are busy: how long an example took says nothing.
hypothesis.settings.register_profile(
    "evenpace", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("evenpace")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests that start PyTorch workers where PyTorch is not installed."""
    if importlib.util.find_spec("torch") is not None:
        return
    for item in items:
        if "torch" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="torch is not installed"))


@pytest.fixture(scope="session")
def repository() -> Path:
    """Return the root of the repository."""
    return Path(__file__).parent.parent


@pytest.fixture
def eventually() -> Callable[..., None]:
    """Return a helper that waits until a condition holds, and fails after a deadline (seconds)."""

    def wait(condition: Callable[[], object], deadline: float = 20.0, what: str = "the condition") -> None:
        end = time.monotonic() + deadline
        while not condition():
            if time.monotonic() > end:
                pytest.fail(f"{what} did not hold within {deadline:g} s")
            time.sleep(0.02)

    return wait
