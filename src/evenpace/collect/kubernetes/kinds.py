"""The kinds of objects that are ever read from Kubernetes. Secrets are not among them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """Name one kind: `plural.group` as kubectl writes it, its `kind`, and versions, the preferred first.

    `only` restricts reading to these (namespace, name): of ConfigMaps nothing else is ever fetched.
    """

    name: str
    kind: str
    versions: tuple[str, ...] = ("v1",)
    namespaced: bool = True
    only: tuple[tuple[str, str], ...] = ()

    @property
    def plural(self) -> str:
        """Return the name in paths, such as `jobs`."""
        return self.name.partition(".")[0]

    @property
    def group(self) -> str:
        """Return the API group, empty for the core."""
        return self.name.partition(".")[2]


_CONFIGMAPS = (
    ("kube-system", "coredns"),
    ("kube-system", "node-local-dns"),
    ("kueue-system", "kueue-manager-config"),
    ("volcano-system", "volcano-scheduler-configmap"),
)
_KUBEFLOW = ("pytorchjobs", "PyTorchJob"), ("mpijobs", "MPIJob"), ("tfjobs", "TFJob"), ("jaxjobs", "JAXJob")

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("nodes", "Node", namespaced=False),
        Kind("pods", "Pod"),
        Kind("events", "Event"),
        Kind("namespaces", "Namespace", namespaced=False),
        Kind("services", "Service"),
        Kind("configmaps", "ConfigMap", only=_CONFIGMAPS),
        Kind("persistentvolumes", "PersistentVolume", namespaced=False),
        Kind("persistentvolumeclaims", "PersistentVolumeClaim"),
        Kind("resourcequotas", "ResourceQuota"),
        Kind("limitranges", "LimitRange"),
        Kind("daemonsets.apps", "DaemonSet"),
        Kind("deployments.apps", "Deployment"),
        Kind("statefulsets.apps", "StatefulSet"),
        Kind("jobs.batch", "Job"),
        Kind("cronjobs.batch", "CronJob"),
        Kind("poddisruptionbudgets.policy", "PodDisruptionBudget"),
        Kind("priorityclasses.scheduling.k8s.io", "PriorityClass", namespaced=False),
        Kind("storageclasses.storage.k8s.io", "StorageClass", namespaced=False),
        Kind("runtimeclasses.node.k8s.io", "RuntimeClass", namespaced=False),
        Kind("leases.coordination.k8s.io", "Lease"),
        Kind(
            "resourceslices.resource.k8s.io", "ResourceSlice", ("v1", "v1beta2", "v1beta1"), namespaced=False
        ),
        Kind(
            "validatingwebhookconfigurations.admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration",
            namespaced=False,
        ),
        Kind(
            "mutatingwebhookconfigurations.admissionregistration.k8s.io",
            "MutatingWebhookConfiguration",
            namespaced=False,
        ),
        Kind("flowschemas.flowcontrol.apiserver.k8s.io", "FlowSchema", ("v1", "v1beta3"), namespaced=False),
        Kind(
            "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
            "PriorityLevelConfiguration",
            ("v1", "v1beta3"),
            namespaced=False,
        ),
        Kind("jobsets.jobset.x-k8s.io", "JobSet", ("v1alpha2",)),
        Kind("leaderworkersets.leaderworkerset.x-k8s.io", "LeaderWorkerSet"),
        *(Kind(f"{plural}.kubeflow.org", kind, ("v1", "v2beta1")) for plural, kind in _KUBEFLOW),
        Kind("trainjobs.trainer.kubeflow.org", "TrainJob", ("v1alpha1",)),
        Kind("jobs.batch.volcano.sh", "Job", ("v1alpha1",)),
        Kind("podgroups.scheduling.volcano.sh", "PodGroup", ("v1beta1",)),
        Kind("queues.scheduling.volcano.sh", "Queue", ("v1beta1",), namespaced=False),
        Kind("podgroups.scheduling.x-k8s.io", "PodGroup", ("v1alpha1",)),
        Kind("rayclusters.ray.io", "RayCluster"),
        Kind("rayjobs.ray.io", "RayJob"),
        Kind("workloads.kueue.x-k8s.io", "Workload", ("v1beta2", "v1beta1")),
        Kind("clusterqueues.kueue.x-k8s.io", "ClusterQueue", ("v1beta2", "v1beta1"), namespaced=False),
        Kind("localqueues.kueue.x-k8s.io", "LocalQueue", ("v1beta2", "v1beta1")),
        Kind("resourceflavors.kueue.x-k8s.io", "ResourceFlavor", ("v1beta2", "v1beta1"), namespaced=False),
        Kind("topologies.kueue.x-k8s.io", "Topology", ("v1beta2", "v1beta1", "v1alpha1"), namespaced=False),
        Kind("clusterpolicies.nvidia.com", "ClusterPolicy", namespaced=False),
        Kind("servicemonitors.monitoring.coreos.com", "ServiceMonitor"),
        Kind("podmonitors.monitoring.coreos.com", "PodMonitor"),
        Kind("prometheusrules.monitoring.coreos.com", "PrometheusRule"),
        Kind("nicclusterpolicies.mellanox.com", "NicClusterPolicy", ("v1alpha1",), namespaced=False),
    )
}

# What a check.toml may name instead of many kinds.
GROUPS: dict[str, tuple[str, ...]] = {
    "workloads": (
        *("pods", "jobs.batch", "statefulsets.apps", "jobsets.jobset.x-k8s.io"),
        *("leaderworkersets.leaderworkerset.x-k8s.io", "jobs.batch.volcano.sh", "rayclusters.ray.io"),
        *(f"{plural}.kubeflow.org" for plural, _ in _KUBEFLOW),
    ),
}

# What users make, and what belongs to it: with `--namespace` these are read of one namespace, all else whole.
OF_USERS: frozenset[str] = frozenset(
    {
        *GROUPS["workloads"],
        *("events", "cronjobs.batch", "rayjobs.ray.io", "trainjobs.trainer.kubeflow.org"),
        *("persistentvolumeclaims", "resourcequotas", "limitranges", "poddisruptionbudgets.policy"),
        *("podgroups.scheduling.volcano.sh", "podgroups.scheduling.x-k8s.io"),
        *("workloads.kueue.x-k8s.io", "localqueues.kueue.x-k8s.io"),
    }
)
# Of these, one namespace says nothing about the cluster: what is not in it may be in another.
ANYWHERE: frozenset[str] = frozenset({*GROUPS["workloads"], "events"})


def expanded(names: Iterable[str]) -> tuple[str, ...]:
    """Return kinds with the names of groups replaced by what they stand for, each once."""
    return tuple(dict.fromkeys(kind for name in names for kind in GROUPS.get(name, (name,))))
