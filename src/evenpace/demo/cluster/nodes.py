"""The machines of the fleet: two pools of nodes with eight GPUs, and a few nodes for the cluster itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from evenpace.demo.cluster.parts import at, condition, metadata, micro
from evenpace.demo.cluster.store import Object

SYSTEM = 6  # nodes without GPUs
_LEAF = 16  # nodes below one switch
_SPINE = 128
_GIB = 1 << 30
_IMAGES = (
    ("registry.example.com/train/llm:2026.11.3", 21.4),
    ("registry.example.com/tools/gpu-preflight:2.4", 3.1),
    ("nvcr.io/nvidia/k8s/dcgm-exporter:4.2.3-4.1.3-ubuntu22.04", 0.4),
)
# What others than the kubelet say of a node, all of it about something that went wrong.
_WATCHED = (
    *("KernelDeadlock", "ReadonlyFilesystem", "FrequentContainerdRestart"),
    *("GPUMissing", "XIDErrors", "NVLinkStatusInactive", "IBLinkFlapping"),
)
_PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")


@dataclass(frozen=True, slots=True)
class Pool:
    """Describe a pool of equal GPU nodes; `share` is its part of the fleet."""

    name: str
    product: str
    memory: int  # MiB a GPU
    machine: str
    share: float


POOLS = (
    Pool("h200", "NVIDIA-H200", 143771, "HGX-H200-8", 0.6),
    Pool("h100", "NVIDIA-H100-80GB-HBM3", 81559, "HGX-H100-8", 0.4),
)


def gpu_nodes(count: int, now: datetime) -> dict[str, list[Object]]:
    """Return `count` nodes with GPUs by the name of their pool."""
    large, small = POOLS
    first = round(count * large.share)
    return {
        large.name: [_gpu_node(large, number, now) for number in range(first)],
        small.name: [_gpu_node(small, number, now) for number in range(first, count)],
    }


def system_nodes(now: datetime) -> list[Object]:
    """Return the nodes without GPUs."""
    labels = {"node-role.kubernetes.io/system": "", "node-pool": "system"}
    room = {"cpu": "64", "memory": "256Gi", "ephemeral-storage": "900Gi", "pods": "110"}
    return [_node(f"sys-{at + 1:02}", 60_000 + at, labels, room, now, ()) for at in range(SYSTEM)]


def lease(node: Object, now: datetime) -> Object:
    """Return the lease by which the kubelet of a node says that it lives."""
    name = node["metadata"]["name"]
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": metadata(name, "kube-node-lease", owner=node, made=node["metadata"]["creationTimestamp"]),
        "spec": {
            "holderIdentity": name,
            "leaseDurationSeconds": 40,
            "renewTime": micro(now - timedelta(seconds=4)),
        },
    }


def _gpu_node(pool: Pool, number: int, now: datetime) -> Object:
    labels = {
        "node-pool": pool.name,
        "node.kubernetes.io/instance-type": f"gpu-{pool.name}-8x",
        "network.topology.nvidia.com/leaf": f"leaf-{number // _LEAF:03}",
        "network.topology.nvidia.com/spine": f"spine-{number // _SPINE:02}",
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": pool.product,
        "nvidia.com/gpu.count": "8",
        "nvidia.com/gpu.memory": str(pool.memory),
        "nvidia.com/gpu.machine": pool.machine,
        "nvidia.com/gpu.family": "hopper",
        "nvidia.com/cuda.driver-version.full": "570.148.08",
        "nvidia.com/cuda.driver-version.major": "570",
        "nvidia.com/cuda.driver-version.minor": "148",
        "nvidia.com/cuda.driver-version.revision": "08",
        "nvidia.com/cuda.driver.major": "570",
        "nvidia.com/cuda.driver.minor": "148",
        "nvidia.com/cuda.driver.rev": "08",
        "nvidia.com/cuda.runtime-version.full": "12.8",
        "nvidia.com/mig.capable": "true",
        "nvidia.com/mig.strategy": "single",
        "nvidia.com/gpu.deploy.device-plugin": "true",
        "nvidia.com/gpu.deploy.dcgm-exporter": "true",
        "nvidia.com/gpu.deploy.gpu-feature-discovery": "true",
        "nvidia.com/gpu-driver-upgrade-state": "upgrade-done",
    }
    room = {
        "cpu": "192",
        "memory": "2048Gi",
        "ephemeral-storage": "7000Gi",
        "pods": "110",
        "nvidia.com/gpu": "8",
        "rdma/hca": "8",
    }
    node = _node(f"gpu-{number + 1:04}", number, labels, room, now, _WATCHED)
    node["spec"]["taints"] = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    node["status"]["images"] = [{"names": [name], "sizeBytes": int(size * _GIB)} for name, size in _IMAGES]
    return node


def _node(  # noqa: PLR0913, PLR0917 - what a node is made of
    name: str,
    number: int,
    labels: dict[str, str],
    room: dict[str, str],
    now: datetime,
    watched: tuple[str, ...],
) -> Object:
    made, beat = at(now, days=90, minutes=number % 600), {"lastHeartbeatTime": at(now, seconds=30)}
    own = {"kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux"}
    zone = {"topology.kubernetes.io/region": "dc1", "topology.kubernetes.io/zone": "dc1-a"}
    network = f"10.{128 + number // 256 % 120}.{number % 256}.0/24"
    address = f"172.{16 + number // 65536}.{number // 256 % 256}.{number % 256}"
    kept = {**room, "cpu": str(int(room["cpu"]) - 2), "memory": f"{int(room['memory'][:-2]) - 16}Gi"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata(name, labels={**own, **zone, **labels}, made=made),
        "spec": {"podCIDR": network, "podCIDRs": [network], "providerID": f"dc1://{name}"},
        "status": {
            "capacity": room,
            "allocatable": kept,
            "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
            "conditions": [
                *(condition(kind, False, made, "AsUsual", **beat) for kind in watched),
                *(condition(kind, False, made, f"KubeletHasNo{kind}", **beat) for kind in _PRESSURES),
                condition("Ready", True, made, "KubeletReady", "kubelet is posting ready status", **beat),
            ],
            "nodeInfo": {
                "architecture": "amd64",
                "operatingSystem": "linux",
                "osImage": "Ubuntu 22.04.5 LTS",
                "kernelVersion": "5.15.0-139-generic",
                "containerRuntimeVersion": "containerd://1.7.27",
                "kubeletVersion": "v1.33.4",
                "kubeProxyVersion": "v1.33.4",
                "machineID": metadata(name)["uid"].replace("-", ""),
                "systemUUID": metadata(name)["uid"],
                "bootID": metadata(f"boot/{name}")["uid"],
            },
        },
    }
