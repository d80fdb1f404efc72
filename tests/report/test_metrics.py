from __future__ import annotations

import urllib.request
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from evenpace.errors import Problem
from evenpace.report.metrics import METRICS, MetricsServer, RunMetrics, serve_metrics
from evenpace.watch import events as ev


@pytest.fixture
def server() -> Iterator[MetricsServer]:
    served = serve_metrics(0)
    yield served
    served.close()


def value(metrics: RunMetrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(f"evenpace_{name}", labels)


def told(events: list[ev.Event]) -> RunMetrics:
    metrics = RunMetrics()
    for event in events:
        metrics.update(event)
    return metrics


def test_a_whole_run(demo: list[ev.Event]) -> None:
    metrics = told(demo)
    assert value(metrics, "iterations_total") == 362
    assert value(metrics, "restarts_total") == 1
    assert value(metrics, "incarnation") == 1
    assert value(metrics, "nodes_out") == 1
    assert value(metrics, "checkpoints_skipped_total") == 1
    assert value(metrics, "worker_exits_total", how="clean") == 4
    assert value(metrics, "findings_total", fault="non-communication-hang", severity="critical") == 1
    assert value(metrics, "findings_open", fault="non-communication-hang", severity="critical") is None


def test_within_a_slow_spell(demo: list[ev.Event]) -> None:
    metrics = told(demo[:150])
    assert value(metrics, "iteration_seconds") == pytest.approx(0.4, rel=0.1)
    assert value(metrics, "findings_open", fault="non-communication-slow", severity="warning") == 1
    assert value(metrics, "worker_busy_seconds", rank="1", node="node1") == pytest.approx(0.36, rel=0.1)
    assert value(metrics, "worker_waiting_seconds", rank="1", node="node1") == 0


def test_workers_of_the_last_incarnation_are_forgotten(demo: list[ev.Event]) -> None:
    metrics = told(demo)
    assert value(metrics, "worker_busy_seconds", rank="2", node="node2") is None
    assert value(metrics, "worker_busy_seconds", rank="2", node="node4") is not None


def test_a_slow_run_and_its_answers(slow: list[ev.Event]) -> None:
    metrics = told(slow[:110])
    assert value(metrics, "strategy_in_force", strategy="micro-batches") == 1
    metrics = told(slow)
    assert value(metrics, "strategy_in_force", strategy="micro-batches") == 0
    assert value(metrics, "strategy_changes_total", strategy="micro-batches", action="apply") == 1
    assert value(metrics, "strategy_changes_total", strategy="micro-batches", action="failed") == 1
    assert value(metrics, "probes_total", result="slow") == 1
    assert value(metrics, "probes_total", result="failed") == 1
    assert value(metrics, "pause_seconds_total", cause="topology") == pytest.approx(2.14)
    assert value(metrics, "decisions_total", action="adapt", strategy="topology") == 1
    assert value(metrics, "slow_lost_seconds") == pytest.approx(13.9, rel=0.05)
    assert value(metrics, "slow_recovered_seconds") == pytest.approx(4.5, rel=0.05)


def test_what_is_served_is_what_is_listed(server: MetricsServer, demo: list[ev.Event]) -> None:
    for event in demo[:150]:
        server.update(event)
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=5) as answer:
        families = {family.name: family for family in text_string_to_metric_families(answer.read().decode())}
    listed = {metric.name.removesuffix("_total"): metric for metric in METRICS}
    assert {name for name in families if not name.endswith("_created")} == set(listed)
    for name, metric in listed.items():
        assert (families[name].type, families[name].documentation) == (metric.kind, metric.help)


def test_a_port_in_use_is_one_clear_line(server: MetricsServer) -> None:
    with pytest.raises(Problem, match="in use; choose another --metrics-port"):
        serve_metrics(server.port)
    with pytest.raises(Problem, match="--metrics-port"):
        serve_metrics(70_000)


def test_a_closed_server_frees_its_port() -> None:
    served = serve_metrics(0)
    served.close()
    serve_metrics(served.port).close()
