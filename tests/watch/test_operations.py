"""The window of recent operations: newest kept, later records of an operation replace earlier ones."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evenpace.tap.inject.evenpace_tap.layout import KINDS
from evenpace.watch.operations import (
    COLLECTIVES,
    OPERATION,
    WINDOW,
    Operations,
    OperationWindow,
    channels,
    peer_of,
    sends,
)


def operations(first: int, count: int, complete: int = 0) -> Operations:
    made = np.zeros(count, OPERATION)
    made["index"] = np.arange(first, first + count)
    made["complete"] = complete
    return made


@given(st.lists(st.integers(1, 7000), max_size=8))
def test_the_latest_operations_are_kept(batches: list[int]) -> None:
    window, total = OperationWindow(), 0
    for count in batches:
        window.store(operations(total, count))
        total += count
    kept = window.slice(0, total)
    assert kept["index"].tolist() == list(range(max(0, total - WINDOW), total))


def test_a_completion_replaces_the_open_record() -> None:
    window = OperationWindow()
    window.store(operations(0, 5))
    window.store(operations(2, 1, complete=99))
    assert window.tail(5)["complete"].tolist() == [0, 0, 99, 0, 0]
    assert window.next_index == 5


def test_a_completion_that_comes_very_late_does_not_replace_a_newer_operation() -> None:
    window = OperationWindow()
    window.store(operations(0, WINDOW + 10))
    window.store(operations(3, 1, complete=99))
    assert window.tail(WINDOW)["index"].tolist() == list(range(10, WINDOW + 10))


def test_slices_outside_are_empty() -> None:
    window = OperationWindow()
    window.store(operations(0, 5))
    assert len(window.slice(7, 9)) == 0
    assert len(OperationWindow().tail(3)) == 0


def test_channels_tell_peers_and_directions_apart() -> None:
    made = operations(0, 3)
    made["kind"] = [KINDS.index(kind) for kind in ("all_reduce", "send", "recv")]
    made["peer"] = [-1, 3, 3]
    made["point_to_point"] = [False, True, True]
    collective, send, receive = channels(made).tolist()
    assert collective == COLLECTIVES
    assert (peer_of(send), peer_of(receive)) == (3, 3)
    assert sends(send)
    assert not sends(receive)
