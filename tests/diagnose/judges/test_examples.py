"""The examples of signatures with a judge of their own, and what must accuse nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.diagnose.judges.seen import seen

from evenpace.diagnose.judges import (
    coordination,
    exceptions,
    horovod,
    links,
    models,
    phases,
    stragglers,
    trials,
)
from evenpace.diagnose.model import Case, Sighting
from evenpace.diagnose.signature import Example, Signature, signatures

JUDGES: dict[str, Callable[[Case], Iterable[Sighting]]] = {
    one.__name__.rpartition(".")[2]: one.judge
    for one in (coordination, horovod, links, models, phases, stragglers, trials)
}
NAMES = [one for one in signatures().values() if one.content.judge in JUDGES]
NAMES += [signatures()["ray-task-exception"]]
JUDGES["exceptions"] = exceptions.judge
EXAMPLES = [(one, example) for one in NAMES for example in one.content.example]
MISSES = [(one, example) for one in NAMES for example in one.content.near_miss]


def sighted(signature: Signature, example: Example) -> list[Sighting]:
    found = seen(JUDGES[signature.content.judge or ""], example.text)
    return [one for one in found if one.signature == signature.id]


@pytest.mark.parametrize(("signature", "example"), EXAMPLES, ids=lambda one: getattr(one, "id", ""))
def test_the_examples(signature: Signature, example: Example) -> None:
    (one,) = sighted(signature, example)
    for place in ("rank", "host", "gpu", "pid"):
        wanted = example.culprit.get(place)
        assert getattr(one.culprit, place) == (tuple(wanted) if isinstance(wanted, list) else wanted)
    assert "<" not in signature.content.title.say("en", {**one.captures, **example_of(one)})


def example_of(one: Sighting) -> dict[str, str]:
    return {name: str(getattr(one.culprit, name)) for name in ("rank", "host", "gpu", "pid")}


@pytest.mark.parametrize(("signature", "example"), MISSES, ids=lambda one: getattr(one, "id", ""))
def test_the_near_misses(signature: Signature, example: Example) -> None:
    assert not sighted(signature, example)


def test_horovod_warns_of_a_pause_that_ended() -> None:
    stall = "W horovod/common/operations.cc:588] allreduce.fc.weight [missing ranks: 2]\n"
    steps = "".join(f"step {number} loss 2.1\n" for number in range(5))
    assert not seen(horovod.judge, stall + steps)


def test_two_ranks_that_wait_for_each_other_accuse_nobody() -> None:
    (one,) = seen(horovod.judge, "allreduce.a [missing ranks: 0]\nallreduce.b [missing ranks: 1]\n")
    assert not one.culprit


def link(host: str, peer: str, code: int = 12) -> str:
    said = f"Got completion from peer {peer}<5100> with error {code}, opcode 0"
    return f"{host}:7:30 [0] NCCL WARN NET/IB : {said}\n"


def test_one_host_that_complains_of_all_others_accuses_none() -> None:
    text = "".join(link("c1", f"10.3.0.{number}") for number in range(2, 7))
    assert not seen(links.judge, text)


def test_flushed_requests_are_no_complaint() -> None:
    assert not seen(links.judge, "".join(link(f"c{number}", "10.3.0.9", 5) for number in range(1, 5)))


def test_one_link_elsewhere_among_many_does_not_hide_the_common_host() -> None:
    text = "".join(link(f"c{number}", "10.3.0.90") for number in range(1, 11)) + link("c1", "10.3.0.2")
    (one,) = seen(links.judge, text)
    assert one.culprit.host == "10.3.0.90"


def test_all_slow_ranks_of_a_straggler_report_have_a_common_reason() -> None:
    ids = ", ".join(f"StragglerId(rank={rank}, node='n1')" for rank in range(8))
    (one,) = seen(stragglers.judge, f"STRAGGLER DETECTION WARNING: Affected ranks: {{{ids}}}\n")
    assert not one.culprit


@pytest.mark.parametrize(
    "text",
    [
        "run -g 0,1 : FAILED\nrun -g 1,2 : FAILED\n",  # nothing passed
        "run -g 0,1 : FAILED\nrun -g 2,3 : PASS\n",  # two are left
        "run -g 0,1 : FAILED\nrun -g 0,1 : PASS\n",  # nothing is left
        "run -g 0,1 : FAILED\nrun -g 2,3 : FAILED\nrun -g 1,2 : PASS\n",  # two reasons
        "attempt 1 nodes=a1,a2 : failed\nattempt 2 nodes=a1,a3 : completed\n",  # a job that was run again
    ],
)
def test_trials_that_prove_nothing(text: str) -> None:
    assert not seen(trials.judge, text)


def test_more_than_half_missing_tasks_name_nobody() -> None:
    tasks = "".join(f"/job:jax_worker/replica:0/task:{number}\n" for number in range(1, 8))
    head = "DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: PjRT_Client_Connect. Timed out task names:\n"
    (one,) = seen(coordination.judge, head + tasks)
    assert not one.culprit


def test_a_phase_within_pipeline_stages_names_nobody() -> None:
    text = "[01:00:00 PP1 TP2] Load weight begin.\n"
    text += "".join(f"[01:00:0{rank} PP1 TP{rank}] Load weight end.\n" for rank in (0, 1, 3))
    (one,) = seen(phases.judge, text + "ValueError: there are other ranks that didn't finish loading\n")
    assert not one.culprit


PIECES = [
    *(
        "[missing ranks: 1]",
        "[ready ranks: 0, 2]",
        "Missing ranks:",
        "3: [grad_0]",
        "task:5",
        "-g 0,1",
        "busbw=3",
    ),
    *(
        "nodes=a1,a2",
        "FAILED",
        "PASS",
        "Load weight begin",
        "Load weight end",
        "TP1",
        "[rank2]:",
        "/job:w/replica:0/",
    ),
    *("StragglerId(rank=1, node='x')", "Timed out task names:", "PjRT_Client_Connect", "localGid ::1", "\n"),
    *(
        "c1:7:30 [0] ",
        "Got completion from peer 10.0.0.1<5> with status=12",
        "remoteGids::1",
        "didn't finish",
    ),
]


@given(st.lists(st.sampled_from(PIECES), max_size=40))
def test_any_order_of_pieces(pieces: list[str]) -> None:
    for judge in JUDGES.values():
        assert len(seen(judge, " ".join(pieces))) < 16
