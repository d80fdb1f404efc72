"""What a run says to Prometheus, on request: the newest numbers of its events, under names that stay."""

from __future__ import annotations

from collections import Counter as Tally
from dataclasses import dataclass
from statistics import median

from prometheus_client import CollectorRegistry, Counter, Gauge, start_http_server

from evenpace.errors import Problem
from evenpace.report.pacemetrics import PaceBook
from evenpace.watch import events as ev


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: its name with unit, `counter` or `gauge`, its labels, and what it means."""

    name: str
    kind: str
    help: str
    labels: tuple[str, ...] = ()


METRICS = (
    Metric("evenpace_iterations_total", "counter", "Iterations seen, of all incarnations."),
    Metric(
        "evenpace_iteration_seconds", "gauge", "Duration of the last iteration, the median of its workers."
    ),
    Metric(
        "evenpace_worker_busy_seconds",
        "gauge",
        "A worker's own time in the last iteration.",
        ("rank", "node"),
    ),
    Metric(
        "evenpace_worker_waiting_seconds", "gauge", "Time waited for other workers in it.", ("rank", "node")
    ),
    Metric("evenpace_findings_open", "gauge", "Findings that are open now.", ("fault", "severity")),
    Metric("evenpace_findings_total", "counter", "Findings raised.", ("fault", "severity")),
    Metric("evenpace_worker_exits_total", "counter", "Workers that ended, by how.", ("how",)),
    Metric("evenpace_restarts_total", "counter", "Times that the job was started again."),
    Metric("evenpace_incarnation", "gauge", "Number of the current incarnation, from 0."),
    Metric("evenpace_nodes_out", "gauge", "Nodes that restarts took out."),
    Metric("evenpace_checkpoints_skipped_total", "counter", "Checkpoints not good enough to start from."),
    Metric("evenpace_probes_total", "counter", "Probes, by result: slow, nothing or failed.", ("result",)),
    Metric(
        "evenpace_pause_seconds_total",
        "counter",
        "Time that training stood still for a probe or a strategy.",
        ("cause",),
    ),
    Metric(
        "evenpace_decisions_total", "counter", "Decisions, by action and strategy.", ("action", "strategy")
    ),
    Metric(
        "evenpace_strategy_changes_total",
        "counter",
        "Strategies applied or taken back, and plans that were not put in force (failed).",
        ("strategy", "action"),
    ),
    Metric("evenpace_strategy_in_force", "gauge", "1 while a strategy is in force.", ("strategy",)),
    Metric(
        "evenpace_slow_lost_seconds",
        "gauge",
        "Time lost to slowness and to pauses until now, an estimate of the whole run.",
    ),
    Metric(
        "evenpace_slow_recovered_seconds",
        "gauge",
        "Of what would have been lost, what strategies saved until now; negative where they cost more.",
    ),
)


class RunMetrics:
    """Keep the metrics of one run in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._counters: dict[str, Counter] = {}
        self._gauges: dict[str, Gauge] = {}
        for metric in METRICS:
            if metric.kind == "counter":
                counter = Counter(metric.name, metric.help, metric.labels, registry=self.registry)
                self._counters[metric.name.removeprefix("evenpace_")] = counter
            else:
                gauge = Gauge(metric.name, metric.help, metric.labels, registry=self.registry)
                self._gauges[metric.name.removeprefix("evenpace_")] = gauge
        self._pace = PaceBook()
        self._nodes: dict[int, str] = {}
        self._open: dict[int, tuple[str, str]] = {}
        self._raised: set[int] = set()
        self._out: set[str] = set()

    def update(self, event: ev.Event) -> None:
        """Take one event in."""
        self._pace.add(event)
        self._gauges["slow_lost_seconds"].set(self._pace.lost)
        self._gauges["slow_recovered_seconds"].set(self._pace.recovered)
        match event:
            case ev.Iteration():
                self._iteration(event)
            case ev.IncarnationStarted():
                self._start(event)
            case ev.WorkerJoined():
                self._nodes[event.rank] = event.node
            case ev.WorkerExited():
                self._counters["worker_exits_total"].labels(event.how).inc()
            case ev.FindingRaised() | ev.FindingClosed():
                self._finding(event)
            case ev.Decision():
                self._decision(event)
            case ev.Probed() | ev.Adapted():
                self._answer(event)
            case ev.CheckpointSkipped():
                self._counters["checkpoints_skipped_total"].inc()

    def _decision(self, event: ev.Decision) -> None:
        self._counters["decisions_total"].labels(event.action, event.strategy).inc()
        if event.action == "restart":
            self._out.update(event.nodes_out)
            self._gauges["nodes_out"].set(len(self._out))

    def _answer(self, event: ev.Probed | ev.Adapted) -> None:
        cause = "probe" if isinstance(event, ev.Probed) else event.strategy
        self._counters["pause_seconds_total"].labels(cause).inc(max(event.pause, 0.0))
        if isinstance(event, ev.Probed):
            slow = event.slow_ranks or event.slow_links
            result = "failed" if event.failed else "slow" if slow else "nothing"
            self._counters["probes_total"].labels(result).inc()
            return
        action = "failed" if event.failed else event.action
        self._counters["strategy_changes_total"].labels(event.strategy, action).inc()
        if not event.failed:
            self._gauges["strategy_in_force"].labels(event.strategy).set(event.action == "apply")

    def _start(self, event: ev.IncarnationStarted) -> None:
        """Forget the workers of the last incarnation: their numbers would stand as if they were new."""
        self._gauges["incarnation"].set(event.incarnation)
        if event.incarnation > 0:
            self._counters["restarts_total"].inc()
        self._nodes.clear()
        for name in ("worker_busy_seconds", "worker_waiting_seconds", "strategy_in_force"):
            self._gauges[name].clear()

    def _iteration(self, event: ev.Iteration) -> None:
        if event.durations:
            self._gauges["iteration_seconds"].set(median(event.durations))
        self._counters["iterations_total"].inc()
        for rank, busy, waiting in zip(event.ranks, event.busy, event.waiting, strict=False):
            labels = (str(rank), self._nodes.get(rank, ""))
            self._gauges["worker_busy_seconds"].labels(*labels).set(busy)
            self._gauges["worker_waiting_seconds"].labels(*labels).set(waiting)

    def _finding(self, event: ev.FindingRaised | ev.FindingClosed) -> None:
        if isinstance(event, ev.FindingRaised):
            labels = (event.finding.fault, event.finding.severity.value)
            self._open[event.id] = labels
            if event.id not in self._raised:
                self._raised.add(event.id)
                self._counters["findings_total"].labels(*labels).inc()
        else:
            self._open.pop(event.id, None)
        gauge = self._gauges["findings_open"]
        gauge.clear()
        for labels, count in Tally(self._open.values()).items():
            gauge.labels(*labels).set(count)


class MetricsServer:
    """Serve the metrics of a run over HTTP until closed."""

    def __init__(self, port: int, address: str) -> None:
        self._metrics = RunMetrics()
        try:
            self._server, self._thread = start_http_server(port, address, self._metrics.registry)
        except (OSError, OverflowError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise Problem(
                f"cannot serve metrics on {address}:{port}: {reason}; choose another --metrics-port"
            ) from error

    @property
    def port(self) -> int:
        """Return the port in use, also where 0 was asked for."""
        return self._server.server_port

    def update(self, event: ev.Event) -> None:
        """Take one event in."""
        self._metrics.update(event)

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def serve_metrics(port: int, address: str = "127.0.0.1") -> MetricsServer:
    """Start to serve metrics; raises Problem where the port cannot be had."""
    return MetricsServer(port, address)
