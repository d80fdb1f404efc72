"""The failure-log cases: each is answered as it should be, and nobody innocent is named in any."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.scoring import Score, answer, cases, read_case, score

FOLDER = Path(__file__).parent / "cases"
KNOWN = {folder.name: expected for folder, expected in cases(FOLDER)}
# What is not right yet: the parts of the answer, by case. A case that becomes right must leave this list.
OPEN: dict[str, set[str]] = {
    "h34-bus-error-nonexistent-address": {"culprit"},
    "h48-gdr-disabled-after-upgrade": {"evidence"},
    "k12-fabricmanager-nvswitch-fatal": {"culprit"},
    "k25-cublas-alloc-failed-in-backward": {"culprit"},
    "m01-shard-write-never-done": {"category", "culprit"},
    "m02-allgather-odd-length": {"advice"},
    "m03-save-state-main-process-only": {"category", "culprit", "advice", "evidence"},
    "m04-gpus-per-task-ordinal": {"evidence"},
    "m05-thread-resource-unavailable": {"evidence"},
    "m09-forward-compat-804": {"evidence"},
    "m13-jax-task-not-registered": {"evidence"},
    "m15-no-route-to-one-host": {"culprit"},
    "m19-rendezvous-shutdown-after-done": {"evidence"},
    "m20-loss-scale-at-minimum": {"evidence"},
    "m21-nan-in-forward-loss-rank42": {"evidence"},
    "m24-first-stage-oom-second-waits": {"culprit"},
    "m25-cgroup-oom-second-node": {"evidence"},
    "m26-ray-pod-memory-limit": {"category", "advice"},
    "m29-one-late-restore": {"category", "culprit"},
    "m30-nvrx-score-rank13": {"category", "culprit", "advice", "evidence"},
    "m32-segfault-local-rank-1": {"culprit"},
}


def scored(name: str) -> Score:
    expected = KNOWN[name]
    return score(expected, answer(read_case(FOLDER / name, expected))[1])


@pytest.mark.parametrize("name", KNOWN)
def test_the_answer_is_the_right_one(name: str) -> None:
    one = scored(name)
    assert {part for part, right in one.right.items() if not right} == OPEN.get(name, set())


@pytest.mark.parametrize("name", KNOWN)
def test_nobody_innocent_is_named(name: str) -> None:
    one = scored(name)
    assert not one.innocent
    assert not one.must_not
