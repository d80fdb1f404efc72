"""Agents are known by name, label and image, and only where they run."""

from __future__ import annotations

from typing import Any

import pytest

from evenpace.collect.kubernetes.agents import (
    DETECTORS,
    DEVICE_PLUGINS,
    EXPORTERS,
    LOG_COLLECTORS,
    called,
    left_out,
    reads_pod_logs,
)


def daemonset(name: str, image: str = "", volume: str = "", **labels: str) -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": [{"name": "main", "image": image}]}
    spec["volumes"] = [{"name": "v", "hostPath": {"path": volume}}] if volume else []
    return {"metadata": {"name": name, "labels": labels}, "spec": {"template": {"spec": spec}}}


@pytest.mark.parametrize(
    ("words", "one"),
    [
        (DETECTORS, daemonset("npd", "registry.k8s.io/node-problem-detector/node-problem-detector:v1")),
        (DETECTORS, daemonset("eks-node-monitoring-agent")),
        (EXPORTERS, daemonset("nvidia-dcgm-exporter")),
        (EXPORTERS, daemonset("metrics", "docker.io/rocm/device-metrics-exporter:v1.4.0")),
        (DEVICE_PLUGINS, daemonset("nvidia-gpu-device-plugin-small-cos")),
        (DEVICE_PLUGINS, daemonset("plugin", "nvcr.io/nvidia/k8s-device-plugin:v0.17.1")),
        (LOG_COLLECTORS, daemonset("fluentbit-gke")),
        (
            LOG_COLLECTORS,
            daemonset("x", k__s="") | {"metadata": {"name": "x", "labels": {"k8s-app": "promtail"}}},
        ),
    ],
)
def test_agents_are_known(words: tuple[str, ...], one: dict[str, Any]) -> None:
    assert called(one, words)


def test_a_registry_or_a_path_is_no_name() -> None:
    assert not called(daemonset("agent", "datadog.example.com/team/agent:v1"), LOG_COLLECTORS)
    assert not called(daemonset("kube-proxy"), (*DETECTORS, *EXPORTERS, *LOG_COLLECTORS, *DEVICE_PLUGINS))


@pytest.mark.parametrize(
    ("path", "reads"),
    [
        ("/var/log/pods", True),
        ("/var/log/", True),
        ("/var/log/calico", False),
        ("/var/lib", False),
        ("", False),
    ],
)
def test_reading_pods_logs_shows_in_the_mount(path: str, reads: bool) -> None:
    assert reads_pod_logs(daemonset("x", volume=path)) is reads


def test_nodes_without_any_of_the_agents_are_left_out() -> None:
    tainted = {"metadata": {"name": "a"}, "spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}}
    plain = {"metadata": {"name": "b"}}
    assert left_out([tainted, plain], [daemonset("x")]) == [tainted]
    assert left_out([plain], []) == [plain]
