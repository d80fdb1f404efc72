"""Jobs that wait or run, and jobs of the accounting: from text and JSON of all versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenpace.collect.kubernetes.fields import dig, flag, items
from evenpace.collect.slurm import values
from evenpace.collect.slurm.hostlist import Hostlists
from evenpace.collect.slurm.model import Job, PastJob
from evenpace.collect.slurm.records import suspicious
from evenpace.collect.slurm.values import instant, integer, minutes, plain, span, states, tres_gpus

Object = Mapping[str, Any]
OVER = frozenset(("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL"))
OVER |= frozenset(("DEADLINE", "OUT_OF_MEMORY", "LAUNCH_FAILED", "REVOKED"))


def over(job: Job) -> bool:
    """Tell whether a job has ended, though Slurm still remembers it."""
    return bool(OVER & set(job.states[:1]))


def job_of_text(record: str, lists: Hostlists) -> Job:
    """Read a record of `scontrol show job`."""
    found = suspicious(record)
    count = integer(found.get("NumNodes", "").partition("-")[0])
    tres = found.get("AllocTRES") or found.get("ReqTRES") or found.get("TRES", "")
    return Job(
        id=_id(found.get("JobId", ""), found.get("ArrayJobId", ""), found.get("ArrayTaskId", "")),
        name=found.get("JobName", ""),
        user=values.users(found.get("UserId")),
        partition=plain(found.get("Partition")),
        states=states(found.get("JobState")),
        reason=plain(found.get("Reason")),
        nodes=lists.expand(found.get("NodeList", "")),
        node_count=count,
        gpus=_gpus(tres, found.get("TresPerNode", ""), count),
        time_limit=span(found.get("TimeLimit")),
        submitted=instant(found.get("SubmitTime")),
        started=instant(found.get("StartTime")),
        stdout=_pattern(found, "StdOut"),
        stderr=_pattern(found, "StdErr"),
        command=plain(found.get("Command")),
        batch=_told(found.get("BatchFlag")),
        requeue=_told(found.get("Requeue")),
        restarts=integer(found.get("Restarts")) or 0,
        excluded=lists.expand(found.get("ExcNodeList", "")),
    )


def _pattern(found: Mapping[str, str], key: str) -> str:
    """Return a pattern of output; versions since 25.05 print the first node's name in place of `%N`."""
    host = plain(found.get("BatchHost"))
    written = plain(found.get(key))
    return written.replace(host, "%N") if host else written


def _told(value: str | None) -> bool | None:
    number = integer(value)
    return None if number is None else number > 0


def _id(job: str, array: str, task: str) -> str:
    """Return the id as people write it: `5_1` for a task of an array."""
    return f"{array}_{task}" if array not in ("", "0") and task.isdigit() else job


def _gpus(tres: str, per_node: str, nodes: int | None) -> int | None:
    """Return what the job has or asks for; where GPUs are not accounted, from what it asks for a node."""
    counted = tres_gpus(tres)
    if counted is None and per_node:
        return values.gpus(per_node) * (nodes or 1)
    return counted if counted is not None else 0


def job_of_json(found: Object, lists: Hostlists) -> Job:
    """Read a member of `jobs` of `squeue --json` or `scontrol show job --json`."""
    count = integer(found, "node_count")
    tres = plain(found, "tres_alloc_str") or plain(found, "tres_req_str")
    state = states(found.get("job_state"))
    return Job(
        id=_id(plain(integer(found, "job_id")), plain(integer(found, "array_job_id")), _task(found)),
        name=plain(found, "name"),
        user=plain(found, "user_name") or plain(found, "user_id"),
        partition=plain(found, "partition"),
        states=state,
        reason=plain(found, "state_reason"),
        nodes=lists.expand(plain(found, "nodes")),
        node_count=count,
        gpus=_gpus(tres, plain(found, "tres_per_node"), count),
        time_limit=minutes(found, "time_limit"),
        submitted=instant(found, "submit_time"),
        started=None if state[:1] == ("PENDING",) else instant(found, "start_time"),
        stdout=plain(found, "standard_output"),
        stderr=plain(found, "standard_error"),
        command=plain(found, "command"),
        batch=flag(found, "batch_flag"),
        requeue=flag(found, "requeue"),
        restarts=integer(found, "restart_cnt") or 0,
        excluded=lists.expand(plain(found, "excluded_nodes")),
    )


def _task(found: Object) -> str:
    task = integer(found, "array_task_id")
    return "" if task is None else str(task)


def past_of_text(row: Mapping[str, str], lists: Hostlists) -> PastJob:
    """Read a line of `sacct --parsable2`, by the names of its header."""
    code, _, signal = row.get("ExitCode", "").partition(":")
    nodes = lists.expand(row.get("NodeList", ""))
    return PastJob(
        id=row.get("JobIDRaw") or row.get("JobID", ""),
        name=row.get("JobName", ""),
        user=plain(row.get("User")),
        partition=plain(row.get("Partition")),
        states=states(row.get("State")),
        nodes=nodes,
        node_count=integer(row.get("NNodes")),
        gpus=tres_gpus(row.get("AllocTRES") or row.get("ReqTRES", "")) or 0,
        started=instant(row.get("Start")),
        ended=instant(row.get("End")),
        time_limit=minutes(row.get("TimelimitRaw")) or span(row.get("Timelimit")),
        exit_code=integer(code),
        signal=integer(signal),
        failed_node=plain(row.get("FailedNode")),
    )


def past_of_json(found: Object, lists: Hostlists) -> PastJob:
    """Read a member of `jobs` of `sacct --json`."""
    return PastJob(
        id=plain(integer(found, "job_id")),
        name=plain(found, "name"),
        user=plain(found, "user") or plain(found, "association", "user"),
        partition=plain(found, "partition"),
        states=states(dig(found, "state", "current")),
        nodes=lists.expand(plain(found, "nodes")),
        node_count=integer(found, "allocation_nodes"),
        gpus=_accounted(found, "allocated") or _accounted(found, "requested"),
        started=instant(found, "time", "start"),
        ended=instant(found, "time", "end"),
        time_limit=minutes(found, "time", "limit"),
        exit_code=integer(found, "exit_code", "return_code"),
        signal=integer(found, "exit_code", "signal", "id")
        or integer(found, "exit_code", "signal", "signal_id"),
        failed_node=plain(found, "failed_node"),
    )


def _accounted(found: Object, which: str) -> int:
    counts = {
        plain(one, "name"): integer(one, "count") or 0
        for one in items(found, "tres", which)
        if plain(one, "type") == "gres" and plain(one, "name").partition(":")[0] == "gpu"
    }
    return counts.get("gpu", sum(counts.values()))
