"""The clean fleet fails no check; each gap is found when it is seeded, and seen to be mended."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache

import pytest
from tests.demo.cluster.made import snapshot

from evenpace.checks.catalogue import checks
from evenpace.checks.running import run, run_all
from evenpace.collect.kubernetes.fields import name, number, owner, text
from evenpace.collect.kubernetes.matching import daemon_runs_on
from evenpace.demo.cluster.beating import beat
from evenpace.demo.cluster.fleet import FEWEST, filled
from evenpace.demo.cluster.gaps import find, gaps, seed, timed, together
from evenpace.demo.cluster.store import Store
from evenpace.errors import Problem
from evenpace.findings import Outcome

OWN = {
    id_: check
    for id_, check in checks().items()
    if check.family == "kubernetes" and "evenpace." in check.package
}


@cache
def fleet() -> Store:
    """Return a fleet that every test leaves as it found it."""
    return filled(FEWEST)


def outcomes(store: Store) -> dict[str, Outcome]:
    found = run_all([snapshot(store)], list(OWN.values()))
    return {one.check.id: one.outcome for one in found}


@pytest.mark.parametrize("nodes", [FEWEST, 200])
def test_the_clean_fleet_passes_every_check(nodes: int) -> None:
    """Nothing fails and nothing is left out: each check has looked at something and found it good."""
    assert {id_: one for id_, one in outcomes(filled(nodes)).items() if one is not Outcome.PASS} == {}


def test_every_check_has_a_gap_to_seed() -> None:
    assert set(gaps()) == set(OWN)


@pytest.mark.parametrize("id_", gaps())
def test_a_gap_is_found_and_its_mending_is_seen(id_: str) -> None:
    store = fleet()
    mend = seed(store, find(id_))
    seeded = run(OWN[id_], snapshot(store))
    mend()
    assert (seeded.outcome, seeded.error) == (Outcome.FAIL, "")
    assert run(OWN[id_], snapshot(store)).outcome is Outcome.PASS


def test_all_gaps_together_and_mended_one_by_one() -> None:
    store = filled(FEWEST)
    mends = {id_: seed(store, steps) for id_, steps in together().items()}
    found = outcomes(store)
    assert {id_ for id_ in together() if found[id_] is not Outcome.FAIL} == set()
    assert {id_ for id_, one in found.items() if one is Outcome.ERROR} == set()
    for mend in reversed(mends.values()):
        mend()
    assert set(outcomes(store).values()) == {Outcome.PASS}


def test_no_pod_of_a_daemonset_stays_where_it_no_longer_runs() -> None:
    store = filled(FEWEST)
    for steps in together().values():
        seed(store, steps)
    nodes = {name(node): node for node in store.objects("nodes")[0]}
    agents = {text(one, "metadata", "uid"): one for one in store.objects("daemonsets.apps")[0]}
    pods = [pod for pod in store.objects("pods")[0] if text(owner(pod), "kind") == "DaemonSet"]
    left = [
        name(pod)
        for pod in pods
        if (agent := agents.get(text(owner(pod), "uid"))) is None
        or not daemon_runs_on(agent, nodes[text(pod, "spec", "nodeName")])
    ]
    assert left == []
    for uid, agent in agents.items():
        own = sum(text(owner(pod), "uid") == uid for pod in pods)
        assert number(agent, "status", "currentNumberScheduled") == own, name(agent)


def test_mending_leaves_the_fleet_as_it_was() -> None:
    store = filled(FEWEST)

    def whole() -> dict[str, list[object]]:
        return {
            name: [{**one, "metadata": bare(one["metadata"])} for one in store.objects(name)[0]]
            for name in store.resources
        }

    def bare(metadata: dict[str, object]) -> dict[str, object]:
        return {key: value for key, value in metadata.items() if key not in ("resourceVersion", "generation")}

    before = whole()
    for id_ in gaps():
        seed(store, find(id_))()
    assert whole() == before


def test_the_fleet_stays_clean_while_its_heart_beats() -> None:
    later = [datetime.now(UTC)]
    store = filled(FEWEST)
    store.now = lambda: later[0]
    mend = seed(store, find("node_condition_stale"))
    for _ in range(4):
        later[0] += timedelta(hours=2)
        beat(store)
    found = outcomes(store)
    assert {id_ for id_, one in found.items() if one is not Outcome.PASS} == {"node_condition_stale"}
    mend()


def test_a_clock_that_is_ahead_stays_ahead() -> None:
    store = filled(FEWEST)
    seed(store, find("node_clock_ahead"))
    beat(store)
    assert run(OWN["node_clock_ahead"], snapshot(store)).outcome is Outcome.FAIL


def test_an_unknown_gap_is_refused() -> None:
    with pytest.raises(Problem, match="there is no gap 'unicorn'"):
        find("unicorn")


def test_times_in_gaps() -> None:
    now = datetime(2026, 1, 10, tzinfo=UTC)
    value = {"a": ["{3d ago}", "{90s ahead}", "about {3d ago}"], "b": 1}
    assert timed(value, now) == {
        "a": ["2026-01-07T00:00:00Z", "2026-01-10T00:01:30Z", "about {3d ago}"],
        "b": 1,
    }
