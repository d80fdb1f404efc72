"""How each gap of Slurm is made in the real one, and mended again: one entry a check."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from tests.slurm.real import CAREFUL, DEVICES, HARMLESS, HEALTH, LINES, NODES, RealSlurm


@dataclass(frozen=True, slots=True)
class Seeded:
    """Make a gap by settings, by what `act` does, or in a batch script of a user.

    `later` is how long after it the cluster is read.
    """

    settings: dict[str, str | None] | None = None
    restart: bool = False
    lines: tuple[str, ...] = LINES
    script: str = ""
    act: Callable[[RealSlurm], Iterator[None]] | None = None
    later: timedelta = timedelta()

    @contextmanager
    def made(self, slurm: RealSlurm) -> Iterator[None]:
        """Have the gap in the cluster for as long as the block runs."""
        if self.settings is not None:
            slurm.set(self.settings, self.restart, self.lines)
        try:
            if self.act is not None:
                yield from self.act(slurm)
            else:
                yield
        finally:
            if self.settings is not None:
                slurm.set({}, self.restart)
                slurm.until(lambda: slurm.idle() == NODES)


def drained(reason: str) -> Callable[[RealSlurm], Iterator[None]]:
    """Return what drains a node for a reason."""

    def act(slurm: RealSlurm) -> Iterator[None]:
        slurm.run("scontrol", "update", "nodename=gpu3", "state=down", f"reason={reason}")
        try:
            yield
        finally:
            slurm.run("scontrol", "update", "nodename=gpu3", "state=resume")
            slurm.until(lambda: slurm.idle() == NODES)

    return act


def fewer_gpus(slurm: RealSlurm) -> Iterator[None]:
    """Start a node that finds fewer GPUs than slurm.conf says."""
    slurm.end("gpu5")
    slurm.devices = {"gpu5": len(DEVICES) - 1}
    slurm.set({})
    slurm.start_node("gpu5")
    slurm.until(lambda: "count reported lower" in slurm.run("scontrol", "show", "node", "gpu5"))
    try:
        yield
    finally:
        slurm.end("gpu5")
        slurm.devices = {}
        slurm.set({})
        slurm.start_node("gpu5")
        slurm.until(lambda: "INVAL" not in slurm.run("scontrol", "show", "node", "gpu5"))
        slurm.run("scontrol", "update", "nodename=gpu5", "state=resume")
        slurm.until(lambda: slurm.idle() == NODES)


def largest_run(nodes: int) -> Callable[[RealSlurm], Iterator[None]]:
    """Return what runs a job on so many nodes."""

    def act(slurm: RealSlurm) -> Iterator[None]:
        with job(slurm, f"--nodes={nodes}", f"--gres=gpu:{len(DEVICES)}") as id_:
            slurm.until(lambda: "RUNNING" in slurm.run("squeue", "-h", "-j", id_, "-o", "%T"))
            yield

    return act


@contextmanager
def job(slurm: RealSlurm, *options: str) -> Iterator[str]:
    """Have a batch job, until the block ends."""
    fixed = ("--parsable", "--output=/dev/null", "--wrap=exec sleep 600")
    id_ = slurm.run("sbatch", *options, *fixed).strip()
    try:
        yield id_
    finally:
        slurm.run("scancel", id_)
        slurm.until(lambda: not slurm.run("squeue", "-h", "-j", id_, check=False).strip())
        slurm.until(lambda: slurm.idle() == NODES)


def written(name: str, bad: str, good: str) -> Callable[[RealSlurm], Iterator[None]]:
    """Return what puts another text in the place of a program of the cluster."""

    def act(slurm: RealSlurm) -> Iterator[None]:
        slurm.write(name, bad)
        try:
            yield
        finally:
            slurm.write(name, good)

    return act


def restarting(slurm: RealSlurm) -> Iterator[None]:
    """Send a job back into the queue again and again, without the two minutes of waiting in between.

    A node takes no job again whose end it was told of in the same second.
    """
    with job(slurm, "--requeue", "--gres=gpu:1") as id_:

        def state() -> str:
            return slurm.run("squeue", "-h", "-j", id_, "-o", "%T")

        for _ in range(6):
            slurm.until(lambda: "RUNNING" in state())
            slurm.run("scontrol", "requeuehold", id_)
            ended = time.time()
            slurm.until(lambda ended=ended: "PENDING" in state() and time.time() > ended + 2)
            slurm.run("scontrol", "update", f"jobid={id_}", "starttime=now")
            slurm.run("scontrol", "release", id_)
        yield


URGENT = "PartitionName=urgent Nodes=ALL PriorityTier=10 MaxTime=1:00:00 State=UP"
SCRIPT = """#!/bin/bash
#SBATCH --nodes=4
#SBATCH --gpus-per-node=8
#SBATCH --time=24:00:00
#SBATCH --output=train.out
srun python train.py
"""
COMMON = CAREFUL["SchedulerParameters"].removesuffix(",nohold_on_prolog_fail")
GAPS: dict[str, Seeded] = {
    "accounting_off": Seeded({"AccountingStorageType": None, "AccountingStorageTRES": None}, restart=True),
    "bad_node_returns_by_itself": Seeded(
        {"ReturnToService": "2", "HealthCheckProgram": None, "Prolog": None}
    ),
    "controller_alone": Seeded({}, restart=True, lines=()),
    "dead_node_noticed_late": Seeded({"SlurmdTimeout": "3600"}),
    "gpu_hours_not_accounted": Seeded({"AccountingStorageTRES": None}, restart=True),
    "gres_below_configured": Seeded(act=fewer_gpus),
    "health_check_ignores_gpus": Seeded(
        act=written("health.sh", "#!/bin/sh\ndf /scratch || exit 1\n", HEALTH)
    ),
    "health_check_touches_gpu_first": Seeded(act=written("health.sh", "#!/bin/sh\nnvidia-smi -L\n", HEALTH)),
    "health_check_interval_long": Seeded({"HealthCheckInterval": "7200"}),
    "health_check_program_missing": Seeded({"HealthCheckProgram": None}),
    "health_check_states_left_out": Seeded({"HealthCheckNodeState": "ALLOC", "Prolog": None}),
    "job_without_check": Seeded({"Prolog": None, "HealthCheckProgram": None}, script=SCRIPT),
    "kill_on_bad_exit_off": Seeded({"KillOnBadExit": "0"}),
    "node_down_without_reason": Seeded(act=drained("Not responding"), later=timedelta(hours=2)),
    "node_drained_for_long": Seeded(act=drained("xid 79"), later=timedelta(days=40)),
    "output_without_node": Seeded(script=SCRIPT),
    "preemption_without_grace": Seeded(
        {"PreemptType": "preempt/partition_prio", "PreemptMode": "REQUEUE"},
        restart=True,
        lines=(*LINES, URGENT),
    ),
    "prolog_failure_holds_job": Seeded({"SchedulerParameters": COMMON}),
    "prolog_heavy": Seeded(act=written("prolog.sh", "#!/bin/sh\ndcgmi diag -r 3\n", HARMLESS)),
    "prolog_missing": Seeded({"Prolog": None, "Epilog": None}),
    "prolog_not_at_allocation": Seeded({"PrologFlags": None}),
    "prolog_timeout_unset": Seeded({"PrologEpilogTimeout": None}),
    "requeue_off": Seeded({"JobRequeue": "0"}),
    "requeue_without_end": Seeded(act=restarting),
    "spare_nodes_missing": Seeded(act=largest_run(NODES)),
    "topology_unknown": Seeded({"TopologyPlugin": "topology/none"}, restart=True),
    "unkillable_step_timeout_short": Seeded({"UnkillableStepTimeout": "20"}),
}
