from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.findings import Finding, Severity, Subject
from evenpace.respond import policy
from evenpace.respond.policy import Failure, Limits, Position, Situation, Verdict, decide
from evenpace.terms import LANGUAGES, facets, phrases, term

HERE = Position(20, 7)
BASE = Situation(
    policy="restart", limits=Limits(3, 2, 3), nodes=("node0", "node1", "node2", "node3"), spares=("spare0",)
)
Maker = Callable[..., Finding]


def test_a_confident_culprit_is_replaced_by_a_spare(finding: Maker) -> None:
    verdict = decide(finding("non-communication-hang"), HERE, BASE)
    assert (verdict.action, verdict.nodes_out, verdict.nodes_in) == ("restart", ("node1",), ("spare0",))


def test_without_a_spare_the_job_shrinks(finding: Maker) -> None:
    verdict = decide(finding(), HERE, replace(BASE, spares=()))
    assert (verdict.action, verdict.nodes_out, verdict.nodes_in) == ("restart", ("node1",), ())


def test_observe_only_says_it(finding: Maker) -> None:
    verdict = decide(finding(), HERE, replace(BASE, policy="observe"))
    assert (verdict.action, verdict.nodes_out) == ("would-restart", ("node1",))


@pytest.mark.parametrize(
    ("fault", "node", "confidence", "phrase"),
    [
        ("worker-killed", None, 0.95, "decision-no-culprit"),
        ("worker-killed", "elsewhere", 0.95, "decision-no-culprit"),
        ("worker-killed", "node1", 0.79, "decision-unsure"),
        ("collective-desync", "node1", 0.95, "decision-software"),
        ("deadlock", None, 0.95, "decision-software"),
        ("user-code-exception", None, 0.95, "decision-no-culprit"),
        ("user-code-exception", "node1", 0.95, "decision-first-time"),
        ("node-lost", ["node0", "node1", "node2"], 0.95, "decision-cap"),
    ],
)
def test_what_never_evicts_is_restarted_in_place(
    finding: Maker, fault: str, node: str | None, confidence: float, phrase: str
) -> None:
    verdict = decide(finding(fault, node, confidence), HERE, BASE)
    assert (verdict.action, verdict.phrase, verdict.nodes_out) == ("restart", phrase, ())


def test_an_exception_on_the_same_node_again_evicts(finding: Maker) -> None:
    earlier = Failure("user-code-exception", ("node1",), Position(0, 3))
    verdict = decide(finding("user-code-exception"), HERE, replace(BASE, failures=(earlier,)))
    assert verdict.nodes_out == ("node1",)


@pytest.mark.parametrize("signal", sorted(policy.OWN_SIGNALS))
def test_a_signal_of_the_programs_own_evicts_at_the_second_time(finding: Maker, signal: str) -> None:
    killed = replace(finding(), details={"signal": signal})
    assert decide(killed, HERE, BASE).phrase == "decision-first-time"
    again = replace(BASE, failures=(Failure("worker-killed", ("node1",), HERE),))
    assert decide(killed, HERE, again).nodes_out == ("node1",)


@pytest.mark.parametrize(("fault", "signal"), [("worker-killed", "SIGKILL"), ("node-lost", "SIGSEGV")])
def test_what_comes_from_outside_evicts_at_once(finding: Maker, fault: str, signal: str) -> None:
    assert decide(replace(finding(fault), details={"signal": signal}), HERE, BASE).nodes_out == ("node1",)


def test_the_same_software_fault_at_the_same_step_gives_up(finding: Maker) -> None:
    earlier = Failure("user-code-exception", (), Position(0, 27))
    situation = replace(BASE, failures=(earlier,))
    exception = finding("user-code-exception", None)
    assert decide(exception, HERE, situation).action == "give-up"
    assert decide(exception, Position(20, 12), situation).action == "restart"
    assert decide(finding("worker-killed", None), HERE, situation).action == "restart"


def test_faults_before_the_first_iteration_are_the_same_place(finding: Maker) -> None:
    earlier = Failure("launch-rendezvous", (), Position(None, None))
    situation = replace(BASE, failures=(earlier,))
    assert decide(finding("launch-rendezvous", None), Position(None, None), situation).action == "give-up"


def test_too_few_nodes_keep_the_culprit(finding: Maker) -> None:
    situation = replace(BASE, spares=(), limits=Limits(3, 2, 4))
    assert decide(finding(), HERE, situation).phrase == "decision-too-few"


def test_the_cap_counts_what_went_before(finding: Maker) -> None:
    assert decide(finding(), HERE, replace(BASE, out=2)).phrase == "decision-cap"


def test_the_budget_ends(finding: Maker) -> None:
    spent = replace(BASE, restarts=3)
    assert decide(finding(), HERE, spent) == Verdict("give-up", "decision-budget", {"restarts": 3})
    assert decide(None, HERE, spent).action == "give-up"
    assert decide(finding(), HERE, replace(spent, policy="observe")).action == "none"


def test_a_failure_without_a_finding_is_restarted_in_place() -> None:
    assert decide(None, HERE, BASE) == Verdict("restart", "decision-unexplained")


@pytest.mark.parametrize("fault", sorted(policy.SLOW))
def test_slowness_never_restarts(finding: Maker, fault: str) -> None:
    assert decide(finding(fault), HERE, BASE).action == "none"


@pytest.mark.parametrize("severity", [Severity.WARNING, Severity.INFO])
def test_only_critical_findings_act(finding: Maker, severity: Severity) -> None:
    assert decide(finding(severity=severity), HERE, BASE).action == "none"


AT_ONCE = {
    "communication-hang",
    "non-communication-hang",
    "worker-killed",
    "node-lost",
    "gpu-hardware",
    "nvlink",
}


def test_every_fault_has_its_rule() -> None:
    """A new fault is taken for a machine's only on purpose."""
    assert {fault for fault in facets()["fault"] if policy.evicts_at_once(fault)} == AT_ONCE
    assert not policy.SOFTWARE & AT_ONCE
    assert not policy.NEVER_EVICTS & policy.EVICTS_AT_SECOND


@pytest.mark.parametrize("fault", ["oom-gpu", "storage", "shm", "data-loader", "numerics", "config"])
def test_what_the_program_or_a_setting_does_never_evicts(finding: Maker, fault: str) -> None:
    accused_before = replace(BASE, failures=(Failure("node-lost", ("node1",), Position(0, 3)),))
    verdict = decide(finding(fault), HERE, accused_before)
    assert (verdict.phrase, verdict.nodes_out) == ("decision-software", ())
    again = replace(BASE, failures=(Failure(fault, (), HERE),))
    assert decide(finding(fault), HERE, again).action == "give-up"


@pytest.mark.parametrize("fault", ["oom-host", "gpu-driver", "container-runtime"])
def test_what_may_be_the_node_evicts_at_the_second_time(finding: Maker, fault: str) -> None:
    assert decide(finding(fault), HERE, BASE).phrase == "decision-first-time"
    again = replace(BASE, failures=(Failure(fault, ("node1",), HERE),))
    assert decide(finding(fault), HERE, again).nodes_out == ("node1",)


nodes = st.lists(st.sampled_from(["node0", "node1", "node2", "node3", "spare0", "other"]), unique=True)


@given(
    fault=st.sampled_from(
        sorted(policy.NEVER_EVICTS | policy.EVICTS_AT_SECOND | {"worker-killed", "node-lost"})
    ),
    accused=nodes,
    confidence=st.floats(0, 1),
    limits=st.builds(Limits, st.integers(0, 3), st.integers(0, 3), st.integers(1, 5)),
    out=st.integers(0, 3),
    restarts=st.integers(0, 4),
    chosen=st.sampled_from(policy.POLICIES),
)
def test_no_rule_is_ever_broken(
    fault: str, accused: list[str], confidence: float, limits: Limits, out: int, restarts: int, chosen: str
) -> None:
    situation = replace(BASE, policy=chosen, limits=limits, out=out, restarts=restarts)
    finding = Finding(fault, Severity.CRITICAL, confidence, Subject("rank", node=accused or None), "x")
    verdict = decide(finding, HERE, situation)
    assert (verdict.action in ("restart", "give-up")) <= (chosen == "restart")
    assert (verdict.action in ("restart", "would-restart")) <= (restarts < limits.restarts)
    if verdict.nodes_out:
        assert confidence >= policy.SURE
        assert fault not in policy.NEVER_EVICTS
        assert set(verdict.nodes_out) <= set(accused) & set(situation.nodes)
        assert out + len(verdict.nodes_out) <= limits.nodes_out
        assert len(situation.nodes) - len(verdict.nodes_out) + len(verdict.nodes_in) >= limits.min_nodes


def test_every_reason_has_its_sentence_and_every_fault_its_term() -> None:
    for phrase in ("not-critical", "same-fault", "budget", "unexplained", "software", "no-culprit",
                   "unsure", "first-time", "cap", "too-few", "replace", "shrink"):  # fmt: skip
        assert set(LANGUAGES) <= phrases()[f"decision-{phrase}"].keys()
    for fault in policy.SLOW | policy.NEVER_EVICTS | policy.EVICTS_AT_SECOND | policy.SOFTWARE:
        assert term("fault", fault)
