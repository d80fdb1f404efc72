"""Clusters as clouds and vendors make them: what is as it should be there is not accused."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest

from evenpace.checks.catalogue import checks
from evenpace.checks.running import run
from evenpace.collect.kubernetes.kinds import KINDS
from evenpace.collect.snapshot import Snapshot, Unread, Why
from evenpace.findings import Outcome

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
BEAT, SINCE = "2026-11-29T11:58:00Z", "2026-10-01T00:10:00Z"
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
Kinds = dict[str, list[dict[str, Any]]]


def condition(kind: str, status: str = "False") -> dict[str, str]:
    return {"type": kind, "status": status, "lastHeartbeatTime": BEAT, "lastTransitionTime": SINCE}


def node(
    name: str, gpus: int, labels: dict[str, str], conditions: Iterable[str], **more: Any
) -> dict[str, Any]:
    held = {"cpu": "96", "pods": "110"} | (
        {more.pop("resource", "nvidia.com/gpu"): str(gpus)} if gpus else {}
    )
    good = [condition(kind, "True") for kind in conditions if kind.endswith("Ready")]
    bad = [condition(kind) for kind in conditions if not kind.endswith("Ready")]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "creationTimestamp": "2026-10-01T00:00:00Z"},
        "spec": {"taints": more.pop("taints", []), "podCIDR": more.pop("block", "10.1.0.0/24")},
        "status": {
            "capacity": held,
            "allocatable": held,
            "conditions": [condition("MemoryPressure"), *bad, *good, condition("Ready", "True")],
            "nodeInfo": {"kernelVersion": "6.8.0", "osImage": "Linux", "kubeletVersion": "v1.33.1"},
        },
    }


def daemonset(namespace: str, name: str, image: str = "", **spec: Any) -> dict[str, Any]:
    pod = {"tolerations": [{"operator": "Exists"}], "containers": [{"name": "main", "image": image or name}]}
    pod["priorityClassName"] = "system-node-critical"
    pod.update(spec.pop("pod", {}))
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}},
        "spec": {"template": {"metadata": {"labels": {"app": name}}, "spec": pod}, **spec},
        "status": {"desiredNumberScheduled": 200},
    }


def dns(name: str = "coredns") -> Kinds:
    labels = {"k8s-app": "kube-dns"}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}}
    about = {"name": name, "namespace": "kube-system", "labels": labels}
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{name}-{place}", "namespace": "kube-system", "labels": labels},
            "spec": {"nodeName": f"cpu-{place}"},
            "status": {"phase": "Running", "conditions": [condition("Ready", "True")]},
        }
        for place in range(2)
    ]
    return {"deployments.apps": [{"kind": "Deployment", "metadata": about, "spec": spec}], "pods": pods}


def google() -> Kinds:
    """GKE: the detector is a service of the host, metrics and logs are collected by agents of Google's."""
    labels = {
        "cloud.google.com/gke-nodepool": "a3",
        "cloud.google.com/gke-accelerator": "nvidia-h100-mega-80gb",
        "node.kubernetes.io/instance-type": "a3-megagpu-8g",
    }
    detector = ("KernelDeadlock", "ReadonlyFilesystem", "FrequentKubeletRestart", "CorruptDockerOverlay2")
    plugin = {"nodeSelector": {"cloud.google.com/gke-accelerator": "nvidia-h100-mega-80gb"}}
    hook = {"name": "warden", "failurePolicy": "Fail", "clientConfig": {"url": "https://127.0.0.1:5443/w"}}
    hook["rules"] = [{"apiGroups": [""], "operations": ["CREATE"], "resources": ["pods"]}]
    return {
        "nodes": [node(f"gke-a3-{n}", 8, labels, detector, taints=[GPU_TAINT]) for n in range(6)],
        "daemonsets.apps": [
            daemonset("kube-system", "nvidia-gpu-device-plugin-large-cos", pod=plugin),
            daemonset("kube-system", "fluentbit-gke"),
            daemonset("kube-system", "gke-metrics-agent"),
            daemonset("gmp-system", "collector"),
            daemonset("gke-managed-system", "dcgm-exporter"),
        ],
        "validatingwebhookconfigurations.admissionregistration.k8s.io": [
            {"kind": "ValidatingWebhookConfiguration", "metadata": {"name": "gke"}, "webhooks": [hook]}
        ],
        **dns("kube-dns"),
    }


def amazon() -> Kinds:
    """EKS with its monitoring agent, Karpenter's nodes of several kinds, and the flow schemas it brings."""
    agent = (
        "KernelReady",
        "NetworkingReady",
        "StorageReady",
        "ContainerRuntimeReady",
        "AcceleratedHardwareReady",
    )
    kinds = {"p5.48xlarge": 8, "g6.xlarge": 1, "g6e.12xlarge": 4}
    nodes = [
        node(
            f"ip-10-0-{gpus}-{n}.ec2.internal",
            gpus,
            {"karpenter.sh/nodepool": "gpu", "node.kubernetes.io/instance-type": kind},
            agent,
            block="",
        )
        for kind, gpus in kinds.items()
        for n in range(4)
    ]
    rolling = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}}}
    exempt = {"subjects": [{"kind": "Group", "group": {"name": "eks:k8s-metrics"}}]}
    exempt["resourceRules"] = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
    schema = {"priorityLevelConfiguration": {"name": "exempt"}, "rules": [exempt]}
    return {
        "nodes": nodes,
        "daemonsets.apps": [
            daemonset("kube-system", "aws-node", **rolling),
            daemonset("kube-system", "eks-node-monitoring-agent"),
            daemonset("kube-system", "nvidia-device-plugin-daemonset"),
            daemonset("amazon-cloudwatch", "fluent-bit"),
            daemonset("amazon-cloudwatch", "dcgm-exporter"),
            daemonset("amazon-cloudwatch", "cloudwatch-agent"),
        ],
        "flowschemas.flowcontrol.apiserver.k8s.io": [
            {"kind": "FlowSchema", "metadata": {"name": "eks-exempt"}, "spec": schema}
        ],
        "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": [{"metadata": {"name": "exempt"}}],
        **dns(),
    }


def on_premises() -> Kinds:
    """The GPU operator with NVSentinel, two pools, Calico, CPU and control-plane nodes."""
    driver = {"nvidia.com/cuda.driver-version.full": "570.133.20", "nvidia.com/gpu.count": "8"}
    driver |= {"nvidia.com/gpu-driver-upgrade-state": "upgrade-done", "nvidia.com/gpu.replicas": "1"}
    h200 = driver | {"nodepool": "h200", "nvidia.com/gpu.product": "NVIDIA-H200"}
    a100 = driver | {"nodepool": "a100", "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}
    a100 |= {"nvidia.com/cuda.driver-version.full": "535.161.08"}
    control = node("control-1", 0, {"node-role.kubernetes.io/control-plane": ""}, ())
    control["spec"]["unschedulable"] = True
    operator = ("nvidia-device-plugin-daemonset", "nvidia-dcgm-exporter", "gpu-feature-discovery")
    service = {"name": "nvidia-dcgm-exporter", "namespace": "gpu-operator"}
    service["annotations"] = {"prometheus.io/scrape": "true"}  # type: ignore[assignment]
    return {
        "nodes": [
            *(node(f"h200-{n}", 8, h200, (), taints=[GPU_TAINT]) for n in range(4)),
            *(node(f"a100-{n}", 8, a100, (), taints=[GPU_TAINT]) for n in range(4)),
            *(node(f"cpu-{n}", 0, {}, ()) for n in range(3)),
            control,
        ],
        "daemonsets.apps": [
            *(daemonset("gpu-operator", name) for name in operator),
            daemonset("nvsentinel", "gpu-health-monitor-dcgm-4.x"),
            daemonset("logging", "vector"),
            daemonset("kube-system", "calico-node"),
        ],
        "services": [
            {"kind": "Service", "metadata": service, "spec": {"selector": {"app": "nvidia-dcgm-exporter"}}}
        ],
        **dns(),
    }


def amd() -> Kinds:
    """Nodes with another vendor's accelerators, and its exporter."""
    labels = {"nodepool": "mi300", "amd.com/gpu.product-name": "MI300X"}
    nodes = [node(f"mi300-{n}", 8, labels, ("GpuHealthReady",), resource="amd.com/gpu") for n in range(4)]
    exporter = daemonset("kube-amd-gpu", "metrics", "docker.io/rocm/device-metrics-exporter:v1.4.0")
    exporter["spec"]["template"]["metadata"]["annotations"] = {"prometheus.io/scrape": "true"}
    agents = [daemonset("kube-amd-gpu", "amdgpu-device-plugin"), daemonset("logging", "promtail"), exporter]
    return {"nodes": nodes, "daemonsets.apps": agents, **dns()}


def azure() -> Kinds:
    """AKS: node-problem-detector with GPU checks on the host, agents of Azure Monitor."""
    labels = {"kubernetes.azure.com/agentpool": "h100", "agentpool": "h100"}
    labels |= {"node.kubernetes.io/instance-type": "Standard_ND96isr_H100_v5"}
    detector = ("KernelDeadlock", "VMEventScheduled", "GPUMissing", "NVLinkStatusInactive", "IBLinkFlapping")
    taint = {"key": "sku", "value": "gpu", "effect": "NoSchedule"}
    return {
        "nodes": [node(f"aks-h100-vmss00000{n}", 8, labels, detector, taints=[taint]) for n in range(4)],
        "daemonsets.apps": [
            daemonset("gpu-resources", "nvidia-device-plugin-daemonset"),
            daemonset("kube-system", "ama-logs"),
            daemonset("kube-system", "ama-metrics-node"),
        ],
        **dns(),
    }


def openshift() -> Kinds:
    """OpenShift: DNS as a DaemonSet, agents updated a third at a time, the GPU operator."""
    labels = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.count": "8"}
    rolling = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "33%"}}}
    nodes = [node(f"worker-{n}.example.com", 8, labels, ("KernelDeadlock", "GPUMissing")) for n in range(3)]
    nodes[0]["metadata"]["annotations"] = {"machineconfiguration.openshift.io/state": "Done"}
    return {
        "nodes": nodes,
        "daemonsets.apps": [
            daemonset("openshift-dns", "dns-default", **rolling),
            daemonset("openshift-multus", "network-metrics-daemon", **rolling),
            daemonset("openshift-logging", "collector", "quay.io/openshift-logging/vector:v0"),
            daemonset("nvidia-gpu-operator", "nvidia-device-plugin-daemonset"),
            daemonset("nvidia-gpu-operator", "nvidia-dcgm-exporter"),
        ],
    }


def failing(kinds: Kinds) -> set[str]:
    """Return the checks that fail on a cluster without extensions, whose other kinds are empty."""
    extensions = {one for one in KINDS if "." in one and "k8s.io" not in one.replace("x-k8s.io", "")}
    extensions -= {one for one in KINDS if one.endswith((".apps", ".batch", ".policy"))}
    read = {one: tuple(kinds.get(one, ())) for one in KINDS if one not in extensions}
    absent = {one: Unread(Why.ABSENT, one) for one in extensions}
    snapshot = Snapshot("kubernetes", "test", NOW, read, absent)
    results = [run(one, snapshot) for one in checks().values() if one.family == "kubernetes"]
    assert [result.check.id for result in results if result.outcome is Outcome.ERROR] == []
    return {result.check.id for result in results if result.outcome is Outcome.FAIL}


@pytest.mark.parametrize(
    ("cluster", "gaps"),
    [
        (google, {"gpu_condition_missing"}),
        (amazon, set()),
        (on_premises, set()),
        (amd, set()),
        (azure, set()),
        (openshift, set()),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_as_it_should_be_is_not_accused(cluster: Any, gaps: set[str]) -> None:
    assert failing(cluster()) == gaps
