"""Name what a finding about Slurm is about, and quote a setting, a node, a job or a script as it was read."""

from __future__ import annotations

from pathlib import PurePosixPath

from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.model import Job, Node, Script
from evenpace.findings import Evidence, Subject

CLUSTER = Subject(kind="object", object="slurm")
_LONGEST = 400  # characters of a quotation


def setting(slurm: Slurm, key: str) -> Evidence:
    """Quote one setting: `scontrol show config`, `HealthCheckProgram = (null)`."""
    return Evidence(source="scontrol show config", text=f"{key} = {slurm.config.text(key) or '(null)'}")


def node_subject(node: Node) -> Subject:
    """Return the node as whom a finding is about."""
    return Subject(kind="node", node=node.name)


def node_state(node: Node) -> Evidence:
    """Quote a node's state and reason, as `scontrol show node` tells them."""
    written = (
        f"{node.reason} [{node.reason_user or '?'}@{node.reason_time or '?'}]" if node.reason else "(null)"
    )
    return Evidence(
        source=f"scontrol show node {node.name}", text=f"State={'+'.join(node.states)} Reason={_cut(written)}"
    )


def job_subject(job: Job) -> Subject:
    """Return `Job/4711` as what a finding is about."""
    return Subject(kind="object", object=f"Job/{job.id}")


def partition_subject(name: str) -> Subject:
    """Return `Partition/train` as what a finding is about."""
    return Subject(kind="object", object=f"Partition/{name}")


def script_subject(script: Script) -> Subject:
    """Return `Job/4711` for the script of a known job, else `Prolog/etc/slurm/prolog.sh`."""
    if script.role == "job" and script.job:
        return Subject(kind="object", object=f"Job/{script.job}")
    return Subject(kind="object", object=str(PurePosixPath(script.role) / script.path.lstrip("/")))


def quoted(script: Script, line: str) -> Evidence:
    """Quote a line of a script."""
    return Evidence(source=script.path, text=_cut(line))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
