"""What a loop says is kept apart, and operations are numbered as if there were none."""

from __future__ import annotations

import numpy as np

from evenpace.collect.job.rings import POLLED_DTYPE
from evenpace.watch import tasks
from evenpace.watch.tasks import SHARE, WORK, Share, WorkBook


def records(*rows):
    """Rows are (index, kind, enter, tokens, squares)."""
    made = np.zeros(len(rows), POLLED_DTYPE)
    for record, (index, kind, enter, tokens, squares) in zip(made, rows, strict=True):
        record["index"], record["kind"], record["enter_ns"] = index, kind, enter
        record["bytes"], record["wait_ns"] = tokens, squares
    return made


def test_operations_are_numbered_without_gaps():
    book = WorkBook()
    first = book.take(records((0, 2, 1, 0, 0), (1, WORK, 2, 100, 900), (2, 2, 3, 0, 0)))
    again = book.take(
        records((0, 2, 1, 0, 0), (1, WORK, 2, 100, 900), (3, WORK, 5, 70, 500), (4, 2, 6, 0, 0))
    )
    assert first["index"].tolist() == [0, 1]
    assert again["index"].tolist() == [0, 2]


def test_a_ring_without_work_is_left_as_it_is():
    seen = records((5, 2, 1, 0, 0), (6, 2, 2, 0, 0))
    assert WorkBook().take(seen) is seen


def test_work_of_a_span_is_added_up():
    book = WorkBook()
    book.take(records((0, WORK, 10, 1, 2), (1, WORK, 20, 3, 4), (2, WORK, 25, 5, 6), (3, WORK, 30, 7, 8)))
    assert book.work(20, 30) == (8, 10)
    assert book.work(11, 20) is None
    assert book.work(30, 99) == (7, 8)


def test_the_share_of_a_span_weighs_its_steps():
    book = WorkBook()
    book.take(records((0, SHARE, 10, 4, 2_000), (1, WORK, 20, 3, 4), (2, SHARE, 25, 12, 6_000)))
    assert book.share(0, 20) == Share(4, 2e-6)
    assert book.share(0, 30) == Share(16, 5e-6)
    assert book.share(11, 24) is None
    assert book.work(0, 30) == (3, 4)


def test_a_share_whose_time_is_not_known_is_none():
    book = WorkBook()
    book.take(records((0, SHARE, 10, 4, 0)))
    assert book.share(0, 20) is None


def test_operations_read_late_are_numbered_as_they_stand():
    book = WorkBook()
    book.take(records(*((index, WORK, index, 1, 1) for index in (1, 3, 5))))
    assert book.take(records((2, 2, 9, 0, 0), (4, 2, 9, 0, 0), (6, 2, 9, 0, 0)))["index"].tolist() == [
        1,
        2,
        3,
    ]
    assert book.take(records()).tolist() == []


def test_what_is_forgotten_still_counts(monkeypatch):
    monkeypatch.setattr(tasks, "KEPT", 2)
    book = WorkBook()
    book._said = type(book._said)(maxlen=2)
    book.take(records(*((index, WORK, index, 1, 1) for index in range(5))))
    assert book.take(records((5, 2, 9, 0, 0)))["index"].tolist() == [0]
