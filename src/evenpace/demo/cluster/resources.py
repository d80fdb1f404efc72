"""Which resources the emulated cluster serves: all that the audit reads, and some it must not."""

from __future__ import annotations

from dataclasses import dataclass

from evenpace.collect.kubernetes.kinds import KINDS

VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Resource:
    """Describe one resource of one group and version."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    short: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = VERBS

    @property
    def name(self) -> str:
        """Return the name as `kubectl api-resources -o name` does: `jobs.batch`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        """Return `batch/v1`, `v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def builtin(self) -> bool:
        """Tell whether Kubernetes itself defines the resource: its lists have merge keys."""
        return "." not in self.group or (self.group.endswith(".k8s.io") and ".x-k8s.io" not in self.group)


_SHORT = {
    "nodes": ("no",),
    "pods": ("po",),
    "events": ("ev",),
    "namespaces": ("ns",),
    "services": ("svc",),
    "configmaps": ("cm",),
    "persistentvolumes": ("pv",),
    "persistentvolumeclaims": ("pvc",),
    "daemonsets.apps": ("ds",),
    "deployments.apps": ("deploy",),
    "statefulsets.apps": ("sts",),
    "cronjobs.batch": ("cj",),
    "poddisruptionbudgets.policy": ("pdb",),
    "priorityclasses.scheduling.k8s.io": ("pc",),
    "storageclasses.storage.k8s.io": ("sc",),
    "clusterqueues.kueue.x-k8s.io": ("cq",),
    "localqueues.kueue.x-k8s.io": ("lq",),
    "workloads.kueue.x-k8s.io": ("wl",),
}
_WITHOUT_STATUS = (
    *("events", "configmaps", "limitranges", "priorityclasses.scheduling.k8s.io"),
    *("storageclasses.storage.k8s.io", "runtimeclasses.node.k8s.io", "leases.coordination.k8s.io"),
    *("resourceslices.resource.k8s.io", "validatingwebhookconfigurations.admissionregistration.k8s.io"),
    *("mutatingwebhookconfigurations.admissionregistration.k8s.io", "topologies.kueue.x-k8s.io"),
    *("resourceflavors.kueue.x-k8s.io",),
)
# No check reads these; clients do, and Secrets are here so that a test sees nobody ask for them.
_OTHERS = (
    Resource("", "v1", "secrets", "Secret"),
    Resource("", "v1", "serviceaccounts", "ServiceAccount", short=("sa",)),
    Resource("", "v1", "endpoints", "Endpoints", short=("ep",)),
    Resource("apps", "v1", "replicasets", "ReplicaSet", short=("rs",), subresources=("status",)),
    Resource("apps", "v1", "controllerrevisions", "ControllerRevision"),
    Resource(
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        namespaced=False,
        short=("crd",),
        subresources=("status",),
    ),
    Resource(
        "authorization.k8s.io",
        "v1",
        "selfsubjectaccessreviews",
        "SelfSubjectAccessReview",
        namespaced=False,
        verbs=("create",),
    ),
)


def _subresources(name: str) -> tuple[str, ...]:
    own = ("eviction",) if name == "pods" else ()
    return own if name in _WITHOUT_STATUS else (*own, "status")


RESOURCES: tuple[Resource, ...] = (
    *(
        Resource(
            kind.group,
            kind.versions[0],
            kind.plural,
            kind.kind,
            kind.namespaced,
            _SHORT.get(kind.name, ()),
            _subresources(kind.name),
        )
        for kind in KINDS.values()
    ),
    *_OTHERS,
)
