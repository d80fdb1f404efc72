from __future__ import annotations

from pathlib import Path

import pytest

from evenpace.collect.job.rings import RingReader
from evenpace.tap.inject.evenpace_tap import layout
from evenpace.tap.inject.evenpace_tap.ring import Ring
from evenpace.tap.inject.evenpace_tap.rounds import MOST_FAILURES, Rounds


def test_only_failures_in_a_row_end_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "CAPACITY", 64)
    ring = Ring(str(tmp_path / "n.1.ring"), "node", layout.TAP_PYTHON)
    ring.note("tap", "Python tap: asked for")
    fails = [*[True] * (MOST_FAILURES - 1), False, *[True] * (MOST_FAILURES + 5)]
    asked = iter(fails)

    def action() -> str:
        if next(asked):
            raise KeyError("key")
        return "done"

    rounds = Rounds(ring, "heartbeat", action)
    done = [rounds.go() for _ in range(len(fails))]
    assert [place for place, each in enumerate(done) if each == "done"] == [MOST_FAILURES - 1]
    assert rounds.ended
    assert len(list(asked)) == 5
    message = RingReader(tmp_path / "n.1.ring").header().message
    assert message == "Python tap: asked for; heartbeat has stopped: KeyError('key')"
