"""A pause has one limit for all that happens in it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from evenpace.tap.inject.evenpace_tap import patience
from evenpace.tap.inject.evenpace_tap.patience import Patience


def test_what_is_left_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(patience, "time", SimpleNamespace(monotonic=lambda: now[0]))
    one = Patience(2.0)
    assert (one.left(), one.left(0.5)) == (2.0, 0.5)
    now[0] += 1.75
    assert one.left(0.5) == 0.25
    now[0] += 0.25
    with pytest.raises(TimeoutError):
        one.left()
