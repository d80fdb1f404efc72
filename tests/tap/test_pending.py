"""Operations whose end the Python tap may not learn; real operations are in test_layouts.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from evenpace.collect.job.rings import RingReader
from evenpace.tap.inject.evenpace_tap import layout, pending
from evenpace.tap.inject.evenpace_tap.ring import Ring


class Work:
    def __init__(self, done: bool | None = False) -> None:
        self._done = done

    def is_completed(self) -> bool:
        if self._done is None:
            raise RuntimeError("it cannot be asked")
        return self._done


@pytest.fixture
def ring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ring:
    monkeypatch.setattr(layout, "CAPACITY", 64)
    return Ring(str(tmp_path / "n.1.ring"), "node", layout.TAP_PYTHON)


def add(ring: Ring) -> int:
    return ring.append((1, 2, 0, 0, 0, 8, 77, 0, -1, 2, 0, 0, 9))


def unknown(ring: Ring) -> list[int]:
    records: NDArray[np.void] = RingReader(Path(ring.path)).poll()
    assert records["flags"].max(initial=0) <= layout.FLAG_COMPLETION_UNKNOWN
    return [int(index) for index in records["index"][records["flags"] == layout.FLAG_COMPLETION_UNKNOWN]]


def test_completion_off_the_cpu_is_marked_unknown(ring: Ring) -> None:
    works = pending.Pending(ring)
    works.add(on_gpu := Work(), add(ring), on_cpu=False)
    works.add(on_cpu := Work(), add(ring), on_cpu=True)
    assert unknown(ring) == [0]
    assert "not seen" in RingReader(Path(ring.path)).header().message
    assert on_gpu is not on_cpu


def test_what_is_pushed_out_is_marked_unknown(ring: Ring, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "_MOST_PENDING", 2)
    works = pending.Pending(ring)
    for _ in range(5):
        works.add(Work(), add(ring), on_cpu=True)
    assert unknown(ring) == [0, 1, 2]


def test_a_work_that_cannot_be_asked_keeps_none_from_being_asked(ring: Ring) -> None:
    works = pending.Pending(ring)
    for done in (None, True, False):
        works.add(Work(done), add(ring), on_cpu=True)
    assert works._ask()
    assert unknown(ring) == [0]
    assert RingReader(Path(ring.path)).poll()["complete_ns"].astype(bool).tolist() == [False, True, False]
