"""Announce, pause, measure, judge, go on: with the tap's own pauses in threads, and all that can go wrong."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenpace.locate.links import ring_links
from evenpace.respond.probing import ProbeRequest, measuring, probing
from evenpace.tap.inject.evenpace_tap import layout
from evenpace.watch.events import decode, encode

from .conftest import SECONDS, Job

Measure = Callable[..., Any]
EVERYONE = ProbeRequest((0, 1, 2, 3), tuple(ring_links(range(4))))
RANKS = ProbeRequest((0, 1, 2, 3))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "LINK_SECONDS", 0.03)
    monkeypatch.setattr(measuring, "AGAIN", 0)


def test_measures_workers_and_links_and_lets_all_go_on(job: Job, measure: Measure) -> None:
    job.train(4)
    told = measure(job.probing(incarnation=2), EVERYONE)
    assert (told.failed, told.passes, told.incarnation, told.slow_ranks) == ("", 2, 2, [])
    assert told.step > 0
    assert 0 < told.pause < 8
    assert [(one.rank, one.seconds, one.expected) for one in told.compute] == [
        (rank, SECONDS, SECONDS) for rank in range(4)
    ]
    assert {(one.source, one.target) for one in told.links} == set(EVERYONE.links)
    assert all(one.seconds > 0 and one.bytes == 16 << 20 for one in told.links)
    assert decode(encode(told)) == told


def test_names_who_is_slow_or_wrong_and_not_its_links(job: Job, measure: Measure) -> None:
    workers = job.train(4)
    workers[2].slow, workers[1].wrong = 1.6, 4
    told = measure(job.probing(), EVERYONE)
    assert told.slow_ranks == [1, 2]
    assert [one.wrong for one in told.compute] == [0, 8, 0, 0]  # in two rounds
    assert not [link for link in told.slow_links if set(link) & {1, 2}]


def test_what_all_share_shows_beside_the_healthy_measurement(job: Job, measure: Measure) -> None:
    workers = job.train(4)
    prober = job.probing()
    assert measure(prober, RANKS).slow_ranks == []
    for worker in workers:
        worker.slow = 1.5
    assert measure(prober, RANKS).slow_ranks == []  # there was no measurement known to be healthy
    for worker in workers:
        worker.slow = 1.0
    measure(prober, ProbeRequest((0, 1, 2, 3), healthy=True))
    for worker in workers:
        worker.slow = 1.5
    assert measure(prober, RANKS).slow_ranks == [0, 1, 2, 3]
    assert measure(prober, ProbeRequest((0, 1, 2, 3), healthy=True)).slow_ranks == [0, 1, 2, 3]


def test_a_disturbance_that_ends_names_nobody(
    job: Job, measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "AGAIN", 6)
    workers = job.train(4)
    heard = measuring._worker

    def worker(rank: int, answer: dict[str, Any], hardware: str) -> Any:
        workers[3].slow = 1.0  # from the first answer on
        return heard(rank, answer, hardware)

    workers[3].slow = 3.0
    monkeypatch.setattr(measuring, "_worker", worker)
    monkeypatch.setattr(measuring, "ROUNDS", 1)
    assert measure(job.probing(), RANKS).slow_ranks == []


def test_one_that_has_passed_the_step_makes_all_go_on(job: Job, measure: Measure) -> None:
    workers = job.train(4)
    workers[1].absent = True
    told = measure(job.probing(), RANKS)
    assert "Rank 1 did not pause" in told.failed
    assert told.compute == []
    assert told.pause < probing.GATHER_SECONDS


def test_one_that_stands_still_makes_all_go_on(
    job: Job, measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probing, "GATHER_SECONDS", 0.2)
    workers = job.train(4)
    workers[3].stopped = True
    told = measure(job.probing(), RANKS)
    assert "Rank 3 did not pause" in told.failed
    assert 0.2 <= told.pause < 8


def test_one_that_has_ended_makes_all_go_on(job: Job, measure: Measure) -> None:
    workers = job.train(2)
    workers[0].absent = True
    prober = job.probing()
    workers[0].ring.set(state=layout.STATE_EXITED)
    assert "does not see optimizer steps of every worker" in measure(prober, RANKS).failed


def test_nobody_comes(job: Job, measure: Measure, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "COME_SECONDS", 0.1)
    for worker in job.train(2):
        worker.stopped = True
    told = measure(job.probing(), RANKS)
    assert "No worker came to step" in told.failed
    assert told.pause == 0


def test_steps_that_are_not_seen(job: Job, measure: Measure) -> None:
    workers = job.train(2)
    workers[0].stopped = True
    workers[0].ring.set(optimizer_steps=0)
    assert "does not see optimizer steps" in measure(job.probing(), RANKS).failed


def test_a_ring_that_is_gone(job: Job, measure: Measure) -> None:
    workers = job.train(2)
    workers[1].path.unlink()
    assert measure(job.probing(), RANKS).failed


def test_a_folder_that_takes_no_socket(job: Job, measure: Measure, tmp_path: Path) -> None:
    job.train(2)
    job.folder = tmp_path / "nothing"
    assert "The probe failed and all went on" in measure(job.probing(), RANKS).failed


def test_one_at_a_time_and_the_outcome_once(job: Job, measure: Measure) -> None:
    job.train(2)
    prober = job.probing()
    assert prober.poll() is None
    assert prober.start(RANKS)
    assert not prober.start(RANKS)
    assert prober.busy
    prober.cancel()
    assert not prober.busy
    assert prober.poll() is None
    assert measure(prober, ProbeRequest((0, 1))).failed == ""
    assert prober.poll() is None


def test_cancelled_while_all_stand_they_go_on(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    paused = threading.Event()
    monkeypatch.setattr(measuring, "_turns", lambda *_, **__: paused.set() or iter([[0]] * 1000))
    job.train(2)
    prober = job.probing()
    prober.start(RANKS)
    assert paused.wait(30)
    prober.cancel()
    job.go_on()


def test_links_that_cannot_be_measured_are_told(
    job: Job, measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "_able", lambda _, edge: edge != (1, 2))
    job.train(4)
    told = measure(job.probing(), EVERYONE)
    assert told.failed == "Without a measurement: 1 → 2."
    assert len(told.links) == 3


def test_a_stranger_at_the_socket(job: Job, measure: Measure, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever else connects and talks nonsense disturbs nobody."""
    strangers: list[socket.socket] = []
    gather = probing.Probing._gather

    def intrude(self: Any, meeting: Any, step: int) -> str:
        for said in (b"garbage\n", b"[]\n", b'{"rank": "x"}\n', b"[" * 70000 + b"\n", b'{"rank": 0', b""):
            stranger = socket.socket(socket.AF_UNIX)
            stranger.connect(str(meeting.path))
            stranger.sendall(said)
            strangers.append(stranger)
        return gather(self, meeting, step)

    monkeypatch.setattr(probing.Probing, "_gather", intrude)
    job.train(2)
    told = measure(job.probing(), ProbeRequest((0, 1), ((0, 1), (1, 0))))
    assert (told.failed, len(told.compute), told.passes) == ("", 2, 2)
    for stranger in strangers:
        stranger.close()


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"times": 5},
        {"times": {"float32": "x"}},
        {"times": {"float32": -1}},
        {"times": {"f": float("inf")}},
    ],
    ids=json.dumps,
)
def test_an_answer_that_is_none(
    job: Job, measure: Measure, monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any]
) -> None:
    from evenpace.tap.inject.evenpace_tap import arithmetic

    monkeypatch.setattr(arithmetic.Arithmetic, "measure", lambda *_: answer)
    job.train(2)
    told = measure(job.probing(), ProbeRequest((0, 1)))
    assert told.compute == []
    assert told.failed == "Without a measurement: rank 0, rank 1."


def test_the_number_of_passes_does_not_grow(job: Job, measure: Measure) -> None:
    job.train(16)
    few, many = (measure(job.probing(), ProbeRequest((), tuple(ring_links(range(n))))) for n in (8, 16))
    assert few.passes == many.passes == 2


def test_peers_are_added_to_suspects(job: Job, measure: Measure, monkeypatch: pytest.MonkeyPatch) -> None:
    job.train(8)
    assert len(measure(job.probing(), ProbeRequest((5,))).compute) == 8
    monkeypatch.setattr(probing, "PEERS", 4)
    ranks = {one.rank for one in measure(job.probing(), ProbeRequest((5,))).compute}
    assert ranks == {0, 2, 4, 5, 6}
