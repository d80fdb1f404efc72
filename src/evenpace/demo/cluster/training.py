"""What the fleet trains: a run of every kind of controller with a pod a node, and notebooks, eight a node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from evenpace.demo.cluster.parts import (
    addresses,
    at,
    condition,
    manifests,
    metadata,
    ready_pod,
    usual_tolerations,
)
from evenpace.demo.cluster.store import Object

_PRIORITIES = {"training": (100_000, "PreemptLowerPriority"), "interactive": (1000, "Never")}
_QUEUE = {"kueue.x-k8s.io/queue-name": "training"}
_RULES = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
_AGAIN = {"action": "RestartJobSetAndIgnoreMaxRestarts", "onJobFailureReasons": ["PodFailurePolicy"]}
HOURS = 60.0  # that the runs have been going


@dataclass(frozen=True, slots=True)
class Run:
    """Describe one run: its controller, its pool and how much of the pool it has; 0 stands for one node."""

    name: str
    kind: str
    pool: str
    share: float


RUNS = (
    Run("pretrain-llm", "JobSet", "h200", 0.55),
    Run("pretrain-moe", "JobSet", "h200", 0.32),
    Run("finetune", "Job", "h100", 0.3),
    Run("reward-model", "PyTorchJob", "h100", 0.2),
    Run("embedding", "MPIJob", "h100", 0.1),
    Run("rlhf", "VolcanoJob", "h100", 0.14),
    Run("rollouts", "RayCluster", "h100", 0.08),
    Run("distill", "Job", "h100", 0.0),
    Run("chat", "LeaderWorkerSet", "h100", 0.04),
)


class Training:
    """Make the objects of the runs, and remember which nodes they took."""

    def __init__(self, now: datetime, free: dict[str, list[str]]) -> None:
        self._now = now
        self._free = {pool: list(nodes) for pool, nodes in free.items()}
        self._sizes = {pool: len(nodes) for pool, nodes in free.items()}
        self._addresses = addresses(64)

    def objects(self) -> Iterator[tuple[str, Object]]:
        """Yield (resource, object) of all runs."""
        for run in RUNS:
            count = max(2, int(self._sizes[run.pool] * run.share)) if run.share else 1
            nodes = [self._free[run.pool].pop(0) for _ in range(count)]
            yield from getattr(self, f"_{run.kind.lower()}")(run, nodes)
        yield from self._notebooks()

    def _jobset(self, run: Run, nodes: list[str]) -> Iterator[tuple[str, Object]]:
        template = _template(run, nodes)
        job = {
            "parallelism": len(nodes),
            "completions": len(nodes),
            "completionMode": "Indexed",
            "backoffLimit": 0,
            "podFailurePolicy": _fails_fast(),
            "template": template,
        }
        policy = {"maxRestarts": 50, "restartStrategy": "BlockingRecreate", "rules": [_AGAIN]}
        jobset = self._controller(
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            run,
            {
                "failurePolicy": policy,
                "replicatedJobs": [{"name": "workers", "replicas": 1, "template": {"spec": job}}],
            },
            {"restarts": 1, "restartsCountTowardsMax": 1},
        )
        child = self._child(jobset, f"{run.name}-workers-0", job, len(nodes))
        yield "jobsets.jobset.x-k8s.io", jobset
        yield "jobs.batch", child
        yield "workloads.kueue.x-k8s.io", self._admitted(jobset, template, len(nodes))
        labels = {"jobset.sigs.k8s.io/jobset-name": run.name, "job-name": child["metadata"]["name"]}
        yield from self._pods(child, template, nodes, labels)

    def _job(self, run: Run, nodes: list[str]) -> Iterator[tuple[str, Object]]:
        template = _template(run, nodes)
        spec = {
            "parallelism": len(nodes),
            "completions": len(nodes),
            "completionMode": "Indexed",
            "backoffLimit": 100,
            "podFailurePolicy": _RULES,
            "template": template,
        }
        job = self._controller("batch/v1", "Job", run, spec, {"active": len(nodes), "ready": len(nodes)})
        yield "jobs.batch", job
        yield "workloads.kueue.x-k8s.io", self._admitted(job, template, len(nodes))
        yield from self._pods(job, template, nodes, {"job-name": run.name})

    def _pytorchjob(self, run: Run, nodes: list[str]) -> Iterator[tuple[str, Object]]:
        template = _template(run, nodes)
        roles = {
            "Master": {"replicas": 1, "restartPolicy": "OnFailure", "template": template},
            "Worker": {"replicas": len(nodes) - 1, "restartPolicy": "OnFailure", "template": template},
        }
        spec = {"runPolicy": {"cleanPodPolicy": "None", "backoffLimit": 20}, "pytorchReplicaSpecs": roles}
        job = self._controller("kubeflow.org/v1", "PyTorchJob", run, spec, _runs(self._now))
        yield "pytorchjobs.kubeflow.org", job
        yield "workloads.kueue.x-k8s.io", self._admitted(job, template, len(nodes))
        yield from self._pods(job, template, nodes, {"training.kubeflow.org/job-name": run.name})

    def _mpijob(self, run: Run, nodes: list[str]) -> Iterator[tuple[str, Object]]:
        template = _template(run, nodes)
        launcher = {
            "spec": {
                "priorityClassName": "training",
                "containers": [
                    {
                        "name": "launcher",
                        "image": "registry.example.com/train/llm:2026.11.3",
                        "command": ["mpirun", "python", "train.py"],
                    }
                ],
            }
        }
        roles = {
            "Launcher": {"replicas": 1, "restartPolicy": "OnFailure", "template": launcher},
            "Worker": {"replicas": len(nodes), "restartPolicy": "OnFailure", "template": template},
        }
        spec = {"runPolicy": {"cleanPodPolicy": "None", "backoffLimit": 20}, "mpiReplicaSpecs": roles}
        job = self._controller("kubeflow.org/v1", "MPIJob", run, spec, _runs(self._now))
        yield "mpijobs.kubeflow.org", job
        yield "workloads.kueue.x-k8s.io", self._admitted(job, template, len(nodes))
        yield from self._pods(job, template, nodes, {"training.kubeflow.org/job-name": run.name})

    def _volcanojob(self, run: Run, nodes: list[str]) -> Iterator[tuple[str, Object]]:
        template = _template(run, nodes)
        task = {"name": "worker", "replicas": len(nodes), "template": template}
        spec = {
            "schedulerName": "volcano",
            "queue": "training",
            "minAvailable": len(nodes),
            "maxRetry": 50,
            "policies": [
                {"events": ["PodFailed", "PodEvicted"], "action": "RestartJob"},
                {"event": "TaskCompleted", "action": "CompleteJob"},
            ],
            "plugins": {"svc": [], "env": [], "pytorch": ["--master=worker", "--worker=worker"]},
            "networkTopology": {"mode": "soft", "highestTierAllowed": 2},
            "priorityClassName": "training",
            "tasks": [task],
        }
        status = {"state": {"phase": "Running"}, "running": len(nodes), "minAvailable": len(nodes)}
        job = self._controller("batch.volcano.sh/v1alpha1", "Job", run, spec, status)
        group = f"{run.name}-group"
        yield "jobs.batch.volcano.sh", job
        yield (
            "podgroups.scheduling.volcano.sh",
            {
                "metadata": metadata(group, "ml", owner=job, made=self._made()),
                "spec": {"minMember": len(nodes), "queue": "training"},
                "status": {"phase": "Running", "running": len(nodes)},
            },
        )
        yield from self._pods(job, template, nodes, {"volcano.sh/job-name": run.name}, group)

    def _raycluster(self, run: Run, nodes: list[str]) -> Iterator[tuple[str, Object]]:
        template = _template(run, nodes)
        head = {"metadata": {}, "spec": _plain("ray-head", "registry.example.com/train/ray:2.47")}
        group = {"groupName": "workers", "replicas": len(nodes), "template": template}
        spec = {"headGroupSpec": {"template": head}, "workerGroupSpecs": [group]}
        cluster = self._controller("ray.io/v1", "RayCluster", run, spec, {"state": "ready"})
        yield "rayclusters.ray.io", cluster
        yield "workloads.kueue.x-k8s.io", self._admitted(cluster, template, len(nodes))
        yield from self._pods(cluster, template, nodes, {"ray.io/cluster": run.name})

    def _leaderworkerset(self, run: Run, nodes: list[str]) -> Iterator[tuple[str, Object]]:
        template = _template(run, nodes)
        spec = {
            "replicas": 1,
            "leaderWorkerTemplate": {"size": len(nodes), "workerTemplate": template},
            "rolloutStrategy": {"type": "RollingUpdate"},
        }
        served = self._controller(
            "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", run, spec, {"readyReplicas": 1}
        )
        yield "leaderworkersets.leaderworkerset.x-k8s.io", served
        yield "workloads.kueue.x-k8s.io", self._admitted(served, template, len(nodes))
        yield from self._pods(served, template, nodes, {"leaderworkerset.sigs.k8s.io/name": run.name})

    def _notebooks(self) -> Iterator[tuple[str, Object]]:
        """Yield pods of one GPU each that fill a few nodes: someone tries something out."""
        for pool, free in self._free.items():
            for node in [free.pop(0) for _ in range(max(1, self._sizes[pool] // 40))]:
                for number in range(8):
                    name = f"notebook-{node}-{number}"
                    yield from self._pods(None, {"spec": _notebook()}, [node], {"app": "notebook"}, name=name)

    def _controller(self, version: str, kind: str, run: Run, spec: Object, status: Object) -> Object:
        queued = {} if kind == "Job" and "volcano" in version else _QUEUE
        return {
            "apiVersion": version,
            "kind": kind,
            "metadata": metadata(run.name, "ml", {"app": run.name, **queued}, made=self._made()),
            "spec": spec,
            "status": status,
        }

    def _child(self, owner: Object, name: str, spec: Object, pods: int) -> Object:
        labels = {"jobset.sigs.k8s.io/jobset-name": owner["metadata"]["name"]}
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": metadata(name, "ml", labels, owner, self._made()),
            "spec": spec,
            "status": {"active": pods, "ready": pods, "startTime": self._made()},
        }

    def _admitted(self, owner: Object, template: Object, count: int) -> Object:
        name = f"{owner['kind'].lower()}-{owner['metadata']['name']}"
        since, pods = self._made(), {"name": "main", "count": count, "template": template}
        return {
            "metadata": metadata(name, "ml", owner=owner, made=since),
            "spec": {"queueName": "training", "podSets": [pods]},
            "status": {
                "admission": {"clusterQueue": "training"},
                "conditions": [
                    condition("QuotaReserved", True, since, "QuotaReserved"),
                    condition("Admitted", True, since, "Admitted"),
                    condition("PodsReady", True, since, "Started"),
                ],
            },
        }

    def _pods(  # noqa: PLR0913, PLR0917 - what a pod of a run differs in
        self,
        owner: Object | None,
        template: Object,
        nodes: list[str],
        labels: dict[str, str],
        group: str = "",
        name: str = "",
    ) -> Iterator[tuple[str, Object]]:
        started = at(self._now, hours=HOURS, minutes=-6)
        for index, node in enumerate(nodes):
            own = name or f"{owner['metadata']['name'] if owner else ''}-{index}"
            about = metadata(own, "ml", {**labels, "index": str(index)}, owner, self._made())
            notes = dict((template.get("metadata") or {}).get("annotations") or {})
            notes |= {"scheduling.k8s.io/group-name": group} if group else {}
            spec = {**template["spec"], "nodeName": node, **_rank(template["spec"])}
            status = ready_pod(spec, self._made(), started, next(self._addresses))
            about |= {"annotations": notes} if notes else {}
            yield "pods", {"metadata": about, "spec": spec, "status": status}

    def _made(self) -> str:
        return at(self._now, hours=HOURS)


def _template(run: Run, nodes: list[str]) -> Object:
    """Return the pod that trains, told how many nodes there are; a run on one node has a disk of its own."""
    (pod,) = manifests("training")
    container = pod["spec"]["containers"][0]
    told = {**container, "env": [{"name": "NNODES", "value": str(len(nodes))}, *container["env"]]}
    claim = "checkpoints" if len(nodes) > 1 else run.name
    spec = {
        **pod["spec"],
        "restartPolicy": "Never",
        "nodeSelector": {"node-pool": run.pool},
        "containers": [told],
        "volumes": [
            *pod["spec"]["volumes"],
            {"name": "checkpoints", "persistentVolumeClaim": {"claimName": claim}},
        ],
    }
    return {"metadata": pod["metadata"] if run.kind != "VolcanoJob" else {}, "spec": spec}


def _rank(spec: Object) -> Object:
    """Return what admission adds to a pod of a priority class."""
    value, policy = _PRIORITIES[spec["priorityClassName"]]
    return {"priority": value, "preemptionPolicy": policy}


def _fails_fast() -> Object:
    """Let a disruption fail the Job at once, for a reason that the JobSet does not count."""
    return {"rules": [{"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget"}]}]}


def _runs(now: datetime) -> Object:
    return {"conditions": [condition("Running", True, at(now, hours=HOURS), "JobRunning")]}


def _plain(name: str, image: str) -> Object:
    resources = {"requests": {"cpu": "8", "memory": "64Gi"}, "limits": {"memory": "64Gi"}}
    return {"containers": [{"name": name, "image": image, "resources": resources}]}


def _notebook() -> Object:
    spec = _plain("notebook", "registry.example.com/tools/notebook:5")
    resources = spec["containers"][0]["resources"]
    resources = {kind: {**held, "nvidia.com/gpu": "1"} for kind, held in resources.items()}
    gpu = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    return {
        "priorityClassName": "interactive",
        "tolerations": [gpu, *usual_tolerations()],
        "containers": [{**spec["containers"][0], "resources": resources}],
    }
