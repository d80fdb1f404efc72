"""The agents that watch over nodes: DaemonSets known by their names and images, and where they run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evenpace.collect.kubernetes.fields import Object, items, labels, name, table, text
from evenpace.collect.kubernetes.matching import daemon_runs_on

# Look for faults of nodes and tell Kubernetes or somebody else of them.
DETECTORS = (
    *("node-problem-detector", "nvsentinel", "gpu-health-monitor", "syslog-health-monitor", "gpud"),
    *("eks-node-monitoring-agent", "node-monitoring-agent", "autopilot", "node-health", "gpu-health"),
    *("gpu-problem", "health-monitor", "health-agent", "health-check", "healthcheck", "node-doctor"),
)
EXPORTERS = (
    *("dcgm-exporter", "gpu-exporter", "gpu_exporter", "nvidia-smi-exporter", "gpu-metrics"),
    *("device-metrics-exporter", "amd-smi-exporter", "neuron-monitor", "habana-metric-exporter"),
    *("xpumanager", "xpu-manager", "tpu-device-plugin", "gpu-monitor", "npu-exporter", "nvitop-exporter"),
)
# Agents of monitoring products, which bring metrics of GPUs themselves or read them from an exporter.
COLLECTORS = (
    *("datadog", "opentelemetry", "otel", "grafana-agent", "alloy", "telegraf", "vmagent", "netdata"),
    *("ama-metrics", "cloudwatch-agent", "gke-metrics", "gmp-", "collector-gmp", "newrelic", "dynatrace"),
    *("oneagent", "splunk", "elastic-agent", "metricbeat", "zabbix", "instana", "appdynamics", "scouter"),
    *("prometheus-agent", "signalfx", "coralogix", "groundcover", "chronosphere", "whatap", "imds-exporter"),
)
LOG_COLLECTORS = (
    *("fluent", "vector", "promtail", "alloy", "filebeat", "logstash", "otel", "opentelemetry", "datadog"),
    *("ama-logs", "omsagent", "cloudwatch", "splunk", "logdna", "mezmo", "sumo", "newrelic", "dynatrace"),
    *("oneagent", "elastic-agent", "grafana-agent", "coralogix", "cribl", "loki", "logging", "logtail"),
    *("log-agent", "log-collector", "logcollector", "log-router", "ilogtail", "scalyr", "papertrail"),
)
DEVICE_PLUGINS = (
    *("nvidia-device-plugin", "k8s-device-plugin", "gpu-device-plugin", "amdgpu-device-plugin"),
    *("amd-gpu-device-plugin", "neuron-device-plugin", "habana-device-plugin", "tpu-device-plugin"),
)
_LOGS = ("/var/log", "/var/log/pods", "/var/log/containers", "/var/lib/docker/containers")


def called(daemonset: Object, words: Sequence[str]) -> bool:
    """Tell whether any of `words` stands in an agent's name, its labels of the application, or its images."""
    return any(word in spelled for spelled in _spelled(daemonset) for word in words)


def _spelled(daemonset: Object) -> tuple[str, ...]:
    pod = table(daemonset, "spec", "template", "spec")
    images = (text(one, "image").rpartition("/")[2] for one in items(pod, "containers"))
    names = (text(one, "name") for one in items(pod, "containers"))
    labelled = (labels(daemonset).get(key, "") for key in ("app.kubernetes.io/name", "app", "k8s-app"))
    return tuple(one.lower() for one in (name(daemonset), *images, *names, *labelled) if one)


def reads_pod_logs(daemonset: Object) -> bool:
    """Tell whether an agent mounts the folder of the node in which the logs of pods lie."""
    volumes = items(daemonset, "spec", "template", "spec", "volumes")
    return any(text(one, "hostPath", "path").rstrip("/") in _LOGS for one in volumes)


def left_out(nodes: Iterable[Object], daemonsets: Sequence[Object]) -> list[Object]:
    """Return the nodes on which none of the agents is placed."""
    return [node for node in nodes if not any(daemon_runs_on(one, node) for one in daemonsets)]
