"""How each gap of Slurm is made in the real one, and mended again: one entry a check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from tests.slurm.real import CAREFUL, DEVICES, NODES, RealSlurm


@dataclass(frozen=True, slots=True)
class Seeded:
    """Make a gap by settings, or by what `act` does; `later` is how long after it the cluster is read."""

    settings: dict[str, str | None] | None = None
    restart: bool = False
    act: Callable[[RealSlurm], Iterator[None]] | None = None
    later: timedelta = timedelta()

    @contextmanager
    def made(self, slurm: RealSlurm) -> Iterator[None]:
        """Have the gap in the cluster for as long as the block runs."""
        if self.settings is not None:
            slurm.set(self.settings, self.restart)
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


def failing_node(slurm: RealSlurm) -> Iterator[None]:
    """Let one node die under three jobs, hours apart as the accounting sees it."""
    for _ in range(3):
        with job(slurm, "--nodelist=gpu7", "--no-requeue", "--gres=gpu:1") as id_:
            slurm.until(lambda id_=id_: "RUNNING" in slurm.run("squeue", "-h", "-j", id_, "-o", "%T"))
            slurm.run("scontrol", "update", "nodename=gpu7", "state=down", "reason=died")
            slurm.run("scontrol", "update", "nodename=gpu7", "state=resume")
    yield


COMMON = CAREFUL["SchedulerParameters"].removesuffix(",nohold_on_prolog_fail")
GAPS: dict[str, Seeded] = {
    "accounting_off": Seeded({"AccountingStorageType": None, "AccountingStorageTRES": None}, restart=True),
    "bad_node_returns_by_itself": Seeded(
        {"ReturnToService": "2", "HealthCheckProgram": None, "Prolog": None}, restart=True
    ),
    "controller_alone": Seeded({"second": None}, restart=True),
    "dead_node_noticed_late": Seeded({"SlurmdTimeout": "3600"}),
    "gpu_hours_not_accounted": Seeded({"AccountingStorageTRES": None}, restart=True),
    "gres_below_configured": Seeded(act=fewer_gpus),
    "health_check_interval_long": Seeded({"HealthCheckInterval": "7200"}),
    "health_check_program_missing": Seeded({"HealthCheckProgram": None}),
    "health_check_states_left_out": Seeded({"HealthCheckNodeState": "ALLOC", "Prolog": None}),
    "kill_on_bad_exit_off": Seeded({"KillOnBadExit": "0"}),
    "node_down_without_reason": Seeded(act=drained("Not responding"), later=timedelta(hours=2)),
    "node_drained_for_long": Seeded(act=drained("xid 79"), later=timedelta(days=40)),
    "prolog_failure_holds_job": Seeded({"SchedulerParameters": COMMON}),
    "prolog_missing": Seeded({"Prolog": None, "Epilog": None}),
    "prolog_not_at_allocation": Seeded({"PrologFlags": None}, restart=True),
    "prolog_timeout_unset": Seeded({"PrologEpilogTimeout": None}, restart=True),
    "requeue_off": Seeded({"JobRequeue": "0"}),
    "spare_nodes_missing": Seeded(act=largest_run(NODES)),
    "topology_unknown": Seeded({"TopologyPlugin": "topology/none"}, restart=True),
    "unkillable_step_timeout_short": Seeded({"UnkillableStepTimeout": "20"}),
}
