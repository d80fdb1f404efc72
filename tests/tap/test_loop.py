"""What a loop tells through the ring, by either tap."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenpace.tap.inject.evenpace_tap import layout, loop


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["native", "python"])
def test_a_loop_says_what_a_step_has_to_do(
    run: Callable[..., Any], scripts: Path, tmp_path: Path, kind: str
) -> None:
    ran = run(tmp_path, str(scripts / "loop.py"), kind=kind)
    ring = next(tmp_path.glob("*.ring"))
    told = sorted(line for line in ran.out.splitlines() if line.startswith(("LOOP", "CHILD")))
    assert told == ["CHILD None None", f"LOOP {ring} {ring.with_suffix('.plan')}"]
    (header,), (records,) = ran.headers, ran.records
    assert (header.loop_step, header.micro_batches, header.rank) == (7, 0, 0)
    assert [layout.KINDS[kind] for kind in records["kind"]] == ["barrier", "work", "work", "share", "barrier"]
    assert records["bytes"].tolist()[1:4] == [1234, 0, 12]
    assert records["wait_ns"].tolist()[1:4] == [99, (1 << 63) - 1, 20_000_000]
    assert (records["complete_ns"] > 0).all()
    assert records["index"].tolist() == [0, 1, 2, 3, 4]


def test_without_a_ring_nothing_is_told() -> None:
    loop.set(loop_step=1)
    loop.work(1)
    loop.share(1, 1)
    assert loop.ring_path() is None
    assert loop.beside(layout.PLAN_SUFFIX) is None
