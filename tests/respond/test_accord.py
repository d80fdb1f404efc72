"""What the node logs add to the finding of a crash, and what they never change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evenpace.diagnose.retelling import retold
from evenpace.findings import Finding, Severity
from evenpace.respond import policy
from evenpace.respond.accord import completed
from evenpace.respond.nodelogs import case_of
from evenpace.respond.placing import Crew
from evenpace.respond.policy import Limits, Position, Situation, decide
from evenpace.watch.crash import WorkerEnd, judge_agent, judge_crash
from evenpace.watch.events import WorkerJoined
from evenpace.watch.worker import WorkerId

T = "2026-01-02T03:04:05.000Z"
NODES = ("node0", "node1", "node2")
RANKS = range(6)  # two a node
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 1 has a total capacity of "
    "79.15 GiB of which 410.00 MiB is free."
)
XID = "kernel: NVRM: Xid (PCI:0000:9b:00): 79, pid=4242, name=python, GPU has fallen off the bus."
ECC = "CUDA error: uncorrectable ECC error encountered"
LOST = "RuntimeError: Connection closed by peer [10.0.0.7]:4711"
OOM_KILLER = "kernel: Out of memory: Killed process 1003 (python) total-vm:98765432kB, anon-rss:87654321kB"
Complete = Callable[..., Finding]


def worker(rank: int) -> WorkerId:
    joined = WORKERS[rank]
    return WorkerId(rank=rank, local_rank=joined.local_rank, node=joined.node, pid=joined.pid)


WORKERS = {
    rank: WorkerJoined(
        time=T, incarnation=0, rank=rank, local_rank=rank % 2, world_size=6, node=NODES[rank // 2],
        pid=1000 + rank, tap="native",
    )
    for rank in RANKS
}  # fmt: skip


def crashed(*causes: WorkerEnd) -> Finding:
    """Return the tap's judgement of workers that ended so, the others having lost them."""
    own = {end.worker.rank: end for end in causes}
    ends = [own.get(rank) or WorkerEnd(worker(rank), "exception", 9.0, exception=LOST) for rank in RANKS]
    finding = judge_crash(ends)
    assert finding is not None
    return finding


def raised(rank: int, text: str) -> WorkerEnd:
    trace = f'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n{text}\n'
    return WorkerEnd(worker(rank), "exception", 8.0, exception=f"{text}\n{trace}")


def killed(rank: int, signal: str = "SIGKILL") -> WorkerEnd:
    return WorkerEnd(worker(rank), "killed", 8.0, code=-9, signal=signal)


@pytest.fixture
def complete(tmp_path: Path) -> Complete:
    """Return a function that completes a finding from what nodes logged."""

    def make(finding: Finding, **said: str) -> Finding:
        logs = {node: tmp_path / f"{node}.log" for node in NODES}
        for node, path in logs.items():
            path.write_text(f"step 1 loss 2.5\n{said.get(node, '')}\n", encoding="utf-8")
        return completed(finding, case_of(logs.values(), finding), Crew(WORKERS, logs))

    return make


def verdict(finding: Finding) -> policy.Verdict:
    limits = Limits(restarts=3, nodes_out=1, min_nodes=2)
    return decide(finding, Position(0, 3), Situation("restart", limits, NODES))


def test_logs_that_say_nothing_change_nothing(complete: Complete) -> None:
    for finding in (crashed(killed(3)), crashed(raised(2, "ValueError: a bad value"))):
        told = complete(finding)
        assert (told.fault, told.subject, told.summary) == (finding.fault, finding.subject, finding.summary)
        assert verdict(told).nodes_out == verdict(finding).nodes_out


def test_an_exception_is_what_it_means_even_where_the_log_has_not_got_it_yet(complete: Complete) -> None:
    before = crashed(raised(3, OOM))
    told = complete(before)
    assert (before.fault, told.fault) == ("user-code-exception", "oom-gpu")
    assert (told.subject.rank, told.subject.node, told.subject.gpu) == (3, "node1", "1")
    assert told.phrase == "signature:torch-oom"
    assert told.evidence[0] == before.evidence[0]
    assert any("PYTORCH_CUDA_ALLOC_CONF" in (advice.command or "") for advice in told.advice[:3])
    assert set(before.advice) <= set(told.advice)
    assert set(before.terms.symptom) < set(told.terms.symptom)
    assert verdict(told).phrase == "decision-software"


def test_the_line_of_the_log_is_quoted_with_its_place(complete: Complete, tmp_path: Path) -> None:
    told = complete(crashed(raised(3, OOM)), node1=f"[rank3]: {OOM}")
    places = [(item.source, item.line) for item in told.evidence]
    assert (str(tmp_path / "node1.log"), 2) in places


def test_a_killed_worker_was_killed_for_memory_where_the_log_says_so(complete: Complete) -> None:
    before = crashed(killed(3))
    told = complete(before, node1=OOM_KILLER)
    assert (told.fault, told.subject) == ("oom-host", before.subject)
    assert verdict(before).nodes_out == ("node1",)
    assert verdict(told).phrase == "decision-first-time"


def test_a_setting_does_not_kill_from_outside(complete: Complete) -> None:
    told = complete(crashed(killed(3)), node1=OOM)
    assert told.fault == "worker-killed"


def test_proven_hardware_is_taken_out_at_once(complete: Complete) -> None:
    before = crashed(raised(3, f"RuntimeError: {ECC}"))
    assert verdict(before).phrase == "decision-first-time"
    told = complete(before)
    assert told.fault == "gpu-hardware"
    assert verdict(told).nodes_out == ("node1",)


def test_proven_hardware_on_the_node_of_the_accused_explains_any_exception(complete: Complete) -> None:
    told = complete(crashed(raised(3, "RuntimeError: the step failed")), node1=XID)
    assert (told.fault, told.subject.rank) == ("gpu-hardware", 3)
    assert verdict(told).nodes_out == ("node1",)


def test_hardware_elsewhere_is_quoted_and_accuses_nobody(complete: Complete) -> None:
    before = crashed(raised(3, "RuntimeError: the step failed"))
    told = complete(before, node2=XID)
    assert (told.fault, told.subject, told.confidence) == (before.fault, before.subject, before.confidence)
    assert any("Xid" in (item.text or "") for item in told.evidence)
    assert told.summary == before.summary
    assert verdict(told) == verdict(before)


def test_hardware_names_the_node_where_the_tap_names_nobody(complete: Complete) -> None:
    before = crashed()
    assert (before.fault, before.names_culprit) == ("unexplained-failure", False)
    told = complete(before, node2=XID)
    assert (told.fault, told.subject.node, told.subject.kind) == ("gpu-hardware", "node2", "gpu")
    assert told.missing == ()
    assert verdict(told).nodes_out == ("node2",)


def test_other_words_of_a_log_alone_name_somebody_and_take_nobody_out(complete: Complete) -> None:
    ends = (raised(1, OOM), raised(4, "ValueError: a bad value"))
    told = complete(crashed(*ends), node0=f"[rank1]: {OOM}")
    assert (told.fault, told.subject.rank) == ("oom-gpu", 1)
    assert told.confidence < policy.SURE
    assert verdict(told).nodes_out == ()


def test_what_another_rank_printed_is_not_why_this_one_ended(complete: Complete) -> None:
    before = crashed(raised(3, "ValueError: a bad value"))
    told = complete(before, node2=f"[rank5]: {OOM}")
    assert (told.fault, told.subject) == (before.fault, before.subject)
    assert not any("micro-batch" in advice.text for advice in told.advice)
    told = complete(before, node1=f"[rank2]: {OOM}")
    assert (told.fault, told.subject) == (before.fault, before.subject)


def test_all_failing_alike_accuse_nobody_whatever_is_printed(complete: Complete) -> None:
    told = complete(crashed(*(raised(rank, "OSError: [Errno 28] No space left on device") for rank in RANKS)))
    assert (told.fault, told.names_culprit) == ("storage", False)
    assert verdict(told).nodes_out == ()


def test_a_job_that_never_started_is_explained_by_its_log(complete: Complete) -> None:
    before = judge_agent("node0", 1, "", [], 5.0)
    said = (
        "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network "
        "address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use"
    )
    told = complete(before, node0=said)
    assert told.fault == "launch-rendezvous"
    assert verdict(told).nodes_out == ()


def test_a_lost_agent_stays_lost(complete: Complete) -> None:
    before = judge_agent("node2", -9, "SIGKILL", [], 5.0)
    told = complete(before, node0=f"[rank0]: {OOM}")
    assert (told.fault, told.subject) == (before.fault, before.subject)


def test_severity_and_time_are_the_taps(complete: Complete) -> None:
    before = crashed(raised(3, OOM))
    told = complete(before)
    assert (told.severity, told.since) == (Severity.CRITICAL, before.since)


def test_korean_says_summary_and_advice(complete: Complete) -> None:
    told = retold(complete(crashed(raised(3, OOM))), "ko")
    hangul = [any("가" <= letter <= "힣" for letter in text) for text in
              (told.summary, *(advice.text for advice in told.advice))]  # fmt: skip
    assert all(hangul)


def test_advice_for_the_same_fault_is_korean_too(complete: Complete) -> None:
    before = crashed(raised(3, "ValueError: a bad value"))
    trace = (
        'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\nValueError: a bad value'
    )
    told = complete(before, node1="\n".join(f"[rank3]: {line}" for line in trace.splitlines()))
    assert (told.fault, told.summary) == (before.fault, before.summary)
    assert "signature" in told.details
    assert len(told.advice) > len(before.advice)
    for advice in retold(told, "ko").advice:
        assert any("가" <= letter <= "힣" for letter in advice.text)


LINES = st.sampled_from(
    [
        OOM,
        f"[rank1]: {OOM}",
        f"[rank5]: {OOM}",
        XID,
        ECC,
        OOM_KILLER,
        LOST,
        "Killed",
        "OSError: [Errno 28] No space left",
    ]
)
ENDS = st.sampled_from(
    [
        killed(3),
        killed(3, "SIGSEGV"),
        raised(3, OOM),
        raised(3, f"RuntimeError: {ECC}"),
        raised(3, "ValueError: x"),
    ]
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    ends=st.lists(ENDS, max_size=1),
    said=st.fixed_dictionaries({node: st.lists(LINES, max_size=3).map("\n".join) for node in NODES}),
)
def test_the_taps_accusation_always_stands(
    complete: Complete, ends: list[WorkerEnd], said: dict[str, str]
) -> None:
    before = crashed(*ends)
    told = complete(before, **said)
    if before.names_culprit:
        assert replace(told.subject, gpu=None) == replace(before.subject, gpu=None)
        assert told.confidence <= before.confidence
    if set(verdict(told).nodes_out) - set(verdict(before).nodes_out):
        assert policy.evicts_at_once(told.fault)
        assert told.confidence >= policy.SURE
        assert told.fault in ("gpu-hardware", "nvlink")
