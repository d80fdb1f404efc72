from __future__ import annotations

from datetime import UTC, datetime

from evenpace.collect.slurm.failures import failures
from evenpace.collect.slurm.model import PastJob


def ended(id_: str, hour: float, *nodes: str, state: str = "NODE_FAIL", failed: str = "") -> PastJob:
    when = datetime(2026, 11, 1, int(hour), int(hour % 1 * 60), tzinfo=UTC)
    return PastJob(id_, states=(state,), nodes=nodes, failed_node=failed, ended=when)


def test_one_failure_ends_many_jobs() -> None:
    found = failures([ended("1", 9, "a"), ended("2", 9.5, "a"), ended("3", 10.2, "a"), ended("4", 15, "a")])
    assert [job.id for job in found["a"]] == ["1", "4"]


def test_of_several_nodes_the_named_one_failed() -> None:
    found = failures([ended("1", 9, "a", "b", failed="b"), ended("2", 9, "a", "b"), ended("3", 9, "c")])
    assert {node: len(jobs) for node, jobs in found.items()} == {"b": 1, "": 1, "c": 1}


def test_jobs_that_exit_with_an_error_accuse_nobody() -> None:
    assert (
        failures([ended("1", 9, "a", state="FAILED"), PastJob("2", states=("NODE_FAIL",), nodes=("a",))])
        == {}
    )
