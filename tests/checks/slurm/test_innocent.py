"""No check of Slurm accuses a cluster that is in order, whatever else goes on in it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from evenpace.checks.catalogue import Check, checks
from evenpace.checks.running import run
from evenpace.collect.slurm.model import Job, Node, Partition, PastJob, Reservation, Script
from evenpace.collect.snapshot import Snapshot, Unread, Why
from evenpace.findings import Outcome

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
CHECKS = [check for check in checks().values() if check.family == "slurm"]
HEALTH = (
    "#!/bin/bash\njournalctl -k --since=-5min | grep -q 'NVRM: Xid' && exit 1\ntimeout 20 nvidia-smi -L\n"
)
BATCH = """#!/bin/bash
#SBATCH --nodes=16 --gpus-per-node=8 --time=48:00:00 --signal=USR1@900
#SBATCH --output=%x-%j.out
export NCCL_DEBUG=INFO
srun --kill-on-bad-exit=1 torchrun --nnodes=16 --nproc-per-node=8 train.py --save-interval-mins 30
"""
CONFIG = {
    "AccountingStorageTRES": "cpu,mem,energy,node,billing,fs/disk,vmem,pages,gres/gpu",
    "AccountingStorageType": "accounting_storage/slurmdbd",
    "Epilog[0]": "/etc/slurm/epilog.d/*",
    "HealthCheckInterval": "300 sec",
    "HealthCheckNodeState": "CYCLE,ANY",
    "HealthCheckProgram": "/etc/slurm/health.sh",
    "JobRequeue": "1",
    "KillOnBadExit": "1",
    "KillWait": "30 sec",
    "MessageTimeout": "10 sec",
    "PreemptMode": "OFF",
    "PreemptType": "(null)",
    "PrologEpilogTimeout": "300",
    "PrologFlags": "Alloc,Contain",
    "Prolog[0]": "/etc/slurm/prolog.sh",
    "ReturnToService": "1",
    "SchedulerParameters": "bf_interval=30,nohold_on_prolog_fail",
    "SlurmctldHost[0]": "ctl1(10.0.0.1)",
    "SlurmctldHost[1]": "ctl2(10.0.0.2)",
    "SlurmdTimeout": "300 sec",
    "TopologyPlugin": "topology/tree",
    "UnkillableStepTimeout": "180 sec",
}
SCRIPTS = (
    Script("HealthCheckProgram", "/etc/slurm/health.sh", HEALTH),
    Script("Prolog", "/etc/slurm/prolog.sh", "#!/bin/bash\n[ -e /dev/nvidia7 ] || exit 1\n"),
    Script("Epilog", "/etc/slurm/epilog.d/10-clean", "#!/bin/bash\nrm -rf /scratch/$SLURM_JOB_ID\n"),
    Script("job", "train.sh", BATCH, "100"),
)
OS = "Linux 5.14.0-427.13.1.el9_4.x86_64 #1 SMP PREEMPT_DYNAMIC"


def gpu(name: str, *states: str, **more: Any) -> Node:
    fixed = {"gres": "gpu:h200:8(S:0-1)", "gpus": 8, "cpus": 192, "memory": 2_000_000, "os": OS}
    return Node(name, states, **{"partitions": ("train",), "version": "24.11.5"} | fixed | more)


def cpu(name: str, *states: str, **more: Any) -> Node:
    return Node(name, states, **{"partitions": ("cpu",), "cpus": 64, "memory": 256_000, "os": OS} | more)


def reason(text: str, days: float, user: str = "jk") -> dict[str, Any]:
    return {"reason": text, "reason_user": user, "reason_time": NOW - timedelta(days=days)}


def training() -> dict[str, Any]:
    """Return a cluster of 64 nodes with one long run, a repair, a reboot, and CPU nodes in a bad way."""
    nodes = [gpu(f"gpu-{i}", "ALLOCATED") for i in range(58)]
    nodes += [gpu(f"gpu-{i}", "IDLE") for i in range(58, 61)]
    nodes.append(gpu("gpu-61", "IDLE", "DRAIN", **reason("Xid 79 GPU 3, RMA 4711", 3)))
    nodes.append(gpu("gpu-62", "IDLE", "REBOOT_ISSUED", os=OS.replace("427", "503")))
    nodes.append(gpu("gpu-63", "DOWN", "NOT_RESPONDING", **reason("Not responding", 0.01, "slurm")))
    nodes += [
        cpu("cpu-1", "DOWN", "NOT_RESPONDING", **reason("Not responding", 90)),
        cpu("login-1", "FUTURE"),
    ]
    run = Job(
        *("100", "pretrain", "ann", "train", ("RUNNING",)),
        nodes=tuple(f"gpu-{i}" for i in range(58)),
        node_count=58,
        gpus=464,
        batch=True,
        requeue=True,
        restarts=9,
        submitted=NOW - timedelta(days=30),
    )
    return {"nodes": tuple(nodes), "jobs": (run,), "partitions": (Partition("train"), Partition("cpu"))}


def maintenance() -> dict[str, Any]:
    """Return a cluster that is wholly in maintenance."""
    states = ("DOWN", "DRAIN", "MAINT", "RESERVED")
    nodes = tuple(gpu(f"gpu-{i}", *states, **reason("", 20)) for i in range(64))
    times = {"start": NOW - timedelta(days=20), "end": NOW + timedelta(days=1)}
    planned = Reservation("maint", tuple(node.name for node in nodes), ("root",), flags=("MAINT",), **times)
    return {"nodes": nodes, "reservations": (planned,), "partitions": (Partition("train"),)}


def cloud() -> dict[str, Any]:
    """Return a cluster in a cloud: nodes that are switched off, and some that never came up."""
    off = ("IDLE", "CLOUD", "POWERED_DOWN")
    nodes = [gpu(f"gpu-dy-{i}", *off, os="", version="") for i in range(40)]
    nodes += [gpu(f"gpu-st-{i}", "ALLOCATED", "CLOUD") for i in range(20)]
    failed = reason("ResumeTimeout reached", 30, "slurm")
    nodes.append(gpu("gpu-dy-99", "DOWN", "CLOUD", "POWERED_DOWN", os="", version="", **failed))
    fixed = {"node_count": 20, "gpus": 160, "batch": True, "requeue": False}
    run = Job("5", "tune", "bo", "train", ("RUNNING",), submitted=NOW - timedelta(hours=5), **fixed)
    return {"nodes": tuple(nodes), "jobs": (run,), "partitions": (Partition("train"),)}


def university() -> dict[str, Any]:
    """Return a cluster of many kinds: preemption with grace, other GPUs, users whose jobs fail."""
    nodes = [gpu(f"h-{i}", "MIXED", partitions=("gpu", "low")) for i in range(6)]
    for i, gres in enumerate(("gpu:v100:3", "gpu:a100:4", "gpu:a100_1g.10gb:28", "gpu:rtx:10", "gpu:rtx:5")):
        count = int(gres.rpartition(":")[2])
        nodes.append(gpu(f"old-{i}", "MIXED", gres=gres, gpus=count, cpus=40 + i, partitions=("gpu", "low")))
    names = tuple(node.name for node in nodes)
    partitions = (
        Partition("low", nodes=names, priority_tier=1, grace=900, preempt_mode="REQUEUE"),
        Partition("gpu", nodes=names, priority_tier=10, preempt_mode="OFF"),
    )
    pushed = Job("9", "sweep", "cy", "low", ("PENDING",), gpus=8, node_count=2, batch=True, restarts=40)
    failed = {"partition": "gpu", "states": ("FAILED",), "nodes": ("h-1",), "gpus": 1, "exit_code": 1}
    wrong = [PastJob(str(i), started=NOW, ended=NOW + timedelta(minutes=i), **failed) for i in range(30)]
    outage = [PastJob(f"n{i}", states=("NODE_FAIL",), nodes=("h-2",), ended=NOW) for i in range(8)]
    return {
        "nodes": tuple(nodes),
        "jobs": (pushed,),
        "partitions": partitions,
        "accounting": (*wrong, *outage),
    }


CLUSTERS = {one.__name__: one for one in (training, maintenance, cloud, university)}
SETTINGS = {"university": {"PreemptType": "preempt/partition_prio", "PreemptMode": "REQUEUE"}}


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("check", CHECKS, ids=[check.id for check in CHECKS])
def test_nobody_is_accused(check: Check, cluster: str) -> None:
    empty: dict[str, Any] = {"jobs": (), "reservations": (), "accounting": (), "scripts": SCRIPTS}
    kinds = empty | {"config": CONFIG | SETTINGS.get(cluster, {})} | CLUSTERS[cluster]()
    kinds["topology"] = "SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=gpu-[0-63]"
    unread = {"gres.conf": Unread(Why.ABSENT, "gres.conf")}
    result = run(check, Snapshot("slurm", cluster, NOW, kinds, unread, "24.11.5"))
    assert (result.outcome is Outcome.FAIL, result.error, result.gaps) == (False, "", ())


@pytest.mark.parametrize("check", CHECKS, ids=[check.id for check in CHECKS])
def test_a_cluster_without_gpus_is_not_called_one(check: Check) -> None:
    """Checks that speak of GPUs say nothing of a cluster that has none."""
    nodes = tuple(cpu(f"cpu-{i}", "DOWN", **reason("Not responding", 30)) for i in range(40))
    kinds = {"config": CONFIG, "nodes": nodes, "jobs": (), "partitions": (), "accounting": (), "scripts": ()}
    kinds |= {"reservations": (), "topology": ""}
    assert run(check, Snapshot("slurm", "", NOW, kinds)).outcome is not Outcome.FAIL
