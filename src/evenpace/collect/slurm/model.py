"""What is read of Slurm, in one form for all versions and for text and JSON. Spans are seconds, sizes MiB.

What a version does not tell is None or empty. States are capitals without marks: `("IDLE", "DRAIN")`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec

LARGEST = 1 << 53  # of a number of anything: up to here numbers are exact in JSON and in floating point
Count = Annotated[int, msgspec.Meta(ge=-LARGEST, le=LARGEST)]


class Node(msgspec.Struct, frozen=True):
    """Hold one node; `gres` is as configured (`gpu:h200:8`), `gpus` the number of GPUs in it."""

    name: str
    states: tuple[str, ...] = ()
    reason: str = ""
    reason_user: str = ""
    reason_time: datetime | None = None
    partitions: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    gres: str = ""
    gpus: Count | None = None
    gpus_used: Count | None = None
    cpus: Count | None = None
    memory: Count | None = None
    os: str = ""
    version: str = ""
    booted: datetime | None = None
    slurmd_started: datetime | None = None
    last_busy: datetime | None = None


class Partition(msgspec.Struct, frozen=True):
    """Hold one partition; a time of None is no limit, `grace` is what preempted jobs get."""

    name: str
    states: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    default: bool = False
    max_time: float | None = None
    default_time: float | None = None
    preempt_mode: str = ""
    grace: float | None = None
    priority_tier: Count | None = None


class Job(msgspec.Struct, frozen=True):
    """Hold one job that waits or runs; `stdout` is its pattern as far as Slurm tells it (`%N` stays).

    `signal` is as in `B:USR1@120`, empty where none is asked for, and None where that is not told: no version
    of Slurm tells it of a job, its batch script and its submit line do.
    """

    id: str
    name: str = ""
    user: str = ""
    partition: str = ""
    states: tuple[str, ...] = ()
    reason: str = ""
    nodes: tuple[str, ...] = ()
    node_count: Count | None = None
    gpus: Count | None = None
    time_limit: float | None = None
    submitted: datetime | None = None
    started: datetime | None = None
    stdout: str = ""
    stderr: str = ""
    command: str = ""
    batch: bool | None = None
    requeue: bool | None = None
    restarts: Count = 0
    signal: str | None = None
    excluded: tuple[str, ...] = ()


class Reservation(msgspec.Struct, frozen=True):
    """Hold one reservation."""

    name: str
    nodes: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    partition: str = ""
    start: datetime | None = None
    end: datetime | None = None


class PastJob(msgspec.Struct, frozen=True):
    """Hold one job of the accounting, each run by itself; `failed_node` is the node it is put down to."""

    id: str
    name: str = ""
    user: str = ""
    partition: str = ""
    states: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    node_count: Count | None = None
    gpus: Count | None = None
    started: datetime | None = None
    ended: datetime | None = None
    time_limit: float | None = None
    exit_code: Count | None = None
    signal: Count | None = None
    failed_node: str = ""


class Script(msgspec.Struct, frozen=True):
    """Hold a program that Slurm starts; `role` is its setting (`Prolog`), or `job` for a batch script."""

    role: str
    path: str
    text: str
    job: str = ""


# kind → what a snapshot holds of it. The settings are as `scontrol show config` names them, unset ones empty.
TYPES: dict[str, type] = {
    "config": dict[str, str],
    "nodes": tuple[Node, ...],
    "partitions": tuple[Partition, ...],
    "jobs": tuple[Job, ...],
    "reservations": tuple[Reservation, ...],
    "accounting": tuple[PastJob, ...],
    "scripts": tuple[Script, ...],
    "topology": str,  # as `scontrol show topology` prints it
    "gres.conf": str,  # the file's text
}
