"""Whatever Slurm tells, no check of it raises."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evenpace.checks.catalogue import checks
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.model import Job, Node, Partition, PastJob, Reservation, Script
from evenpace.collect.snapshot import Snapshot

CHECKS = [(check, check.load()) for check in checks().values() if check.family == "slurm"]
KEYS = (
    *("HealthCheckProgram", "HealthCheckInterval", "HealthCheckNodeState", "Prolog[0]", "Prolog", "Epilog"),
    *("PrologEpilogTimeout", "PrologTimeout", "PrologFlags", "SchedulerParameters", "JobRequeue", "KillWait"),
    *("KillOnBadExit", "ReturnToService", "UnkillableStepTimeout", "MessageTimeout", "SlurmdTimeout"),
    *("AccountingStorageType", "AccountingStorageTRES", "TopologyPlugin", "SlurmctldHost[0]", "PreemptType"),
    *("PreemptMode", "PrEpPlugins"),
)
VALUES = (
    "0",
    "1",
    "2",
    "65534",
    "99999999 sec",
    "preempt/qos",
    "preempt/partition_prio",
    "REQUEUE",
    "(null)",
)
NAMES = st.sampled_from(["gpu-1", "gpu-2", "", "x" * 300])
STATES = st.sampled_from(["IDLE", "DOWN", "DRAIN", "RUNNING", "NODE_FAIL", "MAINT", "RESERVED", "?", ""])
COUNTS = st.one_of(st.none(), st.integers(-2, 10), st.integers(-(10**12), 10**12))
TIMES = st.one_of(st.none(), st.datetimes(timezones=st.just(UTC)))
SPANS = st.one_of(st.none(), st.floats(allow_nan=True))
LINES = (
    "#SBATCH --nodes=4 --gpus-per-node=8 --time=99-00:00:00",
    "#SBATCH -N 0-0 --gres=gpu:0",
    "srun python train.py --save-interval-hours 999999",
    "CHECKPOINT_INTERVAL_SECONDS=0",
    "dcgmi diag -r",
    "sleep",
    "sleep 9m",
    "nvidia-smi",
    "* || check_fs_mount /",
    "* || x",
    "((((",
    "timeout -k 5 env A=b",
)
SCRIPT_TEXT = st.one_of(st.text(max_size=80), st.lists(st.sampled_from(LINES), max_size=6).map("\n".join))
REASON = "gres/gpu count reported lower than configured (7 < 8)"


def several(values: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(values, max_size=4).map(tuple)


NODES = st.builds(
    Node,
    name=NAMES,
    states=several(STATES),
    reason=st.one_of(st.text(max_size=20), st.just(REASON)),
    reason_time=TIMES,
    partitions=several(NAMES),
    gres=st.sampled_from(["gpu:8", "gpu:h200:7", ":::", "gpu:", ""]),
    gpus=COUNTS,
    cpus=COUNTS,
    memory=COUNTS,
    os=st.text(max_size=20),
)
SIZES = {"states": several(STATES), "nodes": several(NAMES), "node_count": COUNTS, "gpus": COUNTS}
JOBS = st.builds(
    Job,
    id=NAMES,
    partition=NAMES,
    submitted=TIMES,
    batch=st.one_of(st.none(), st.booleans()),
    requeue=st.one_of(st.none(), st.booleans()),
    restarts=st.integers(-5, 10**12),
    **SIZES,
)
PAST = st.builds(PastJob, id=NAMES, started=TIMES, ended=TIMES, failed_node=NAMES, **SIZES)
PARTITIONS = st.builds(
    Partition,
    name=NAMES,
    nodes=several(NAMES),
    grace=SPANS,
    priority_tier=COUNTS,
    preempt_mode=st.text(max_size=9),
)
SCRIPTS = st.builds(
    Script,
    role=st.sampled_from(["job", "Prolog", "HealthCheckProgram"]),
    path=st.sampled_from(["/etc/nhc/nhc.conf", "", "../x", "/a b"]),
    text=SCRIPT_TEXT,
)
CONFIG = st.dictionaries(st.sampled_from(KEYS), st.one_of(st.sampled_from(VALUES), st.text(max_size=9)))
CLUSTERS = st.fixed_dictionaries(
    {
        "config": st.dictionaries(
            st.sampled_from(KEYS), st.one_of(st.sampled_from(VALUES), st.text(max_size=9))
        ),
        "nodes": several(NODES),
        "jobs": several(JOBS),
        "accounting": several(PAST),
        "partitions": several(PARTITIONS),
        "scripts": several(SCRIPTS),
        "reservations": several(st.builds(Reservation, name=NAMES)),
        "topology": st.text(max_size=20),
        "gres.conf": st.text(max_size=20),
    }
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(CLUSTERS)
def test_no_check_raises(kinds: dict[str, Any]) -> None:
    snapshot = Snapshot("slurm", "", datetime(2026, 11, 29, tzinfo=UTC), kinds)
    for check, judge in CHECKS:
        list(judge(Slurm(snapshot, check.kinds)))
