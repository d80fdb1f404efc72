"""Stacks: stuck or moving, and the long phases that are normal."""

from __future__ import annotations

import pytest

from evenpace.watch.stacks import StackHistory, phases


def history(*stacks: str) -> StackHistory:
    found = StackHistory()
    for number, stack in enumerate(stacks, 1):
        found.add(number * 10, stack)
    return found


def test_a_loop_over_a_few_lines_is_stuck() -> None:
    loop = history(*(f"/job/train.py:{line % 3}:wait_for_flag\n/job/train.py:90:main" for line in range(20)))
    assert loop.stuck_since(0)


def test_a_forward_pass_moves() -> None:
    passing = history(*(f"/torch/nn/layer{n}.py:5:forward\n/job/train.py:9:main" for n in range(6)))
    assert not passing.stuck_since(0)
    assert passing.stuck_since(60)


def test_the_same_sample_counts_once() -> None:
    found = StackHistory()
    for _ in range(5):
        found.add(10, "a.py:1:f")
    assert found.most_seen() == "a.py:f"


@pytest.mark.parametrize(
    ("stack", "phase"),
    [
        ("/site-packages/torch/serialization.py:800:_save", "checkpoint"),
        ("/job/train.py:5:save_checkpoint", "checkpoint"),
        ("/site-packages/torch/_inductor/codecache.py:1:compile", "compilation"),
        ("/job/train.py:44:evaluate", "evaluation"),
        ("/job/train.py:44:train_step", None),
        ("/site-packages/torch/utils/checkpoint.py:300:checkpoint", None),
        ("/ckpt/checkpoint/model.py:3:forward", None),
        ("/usr/lib/python3.11/subprocess.py:1900:_wait", "transfer"),
        ("/site-packages/botocore/httpsession.py:400:send", "transfer"),
        ("/site-packages/torch/distributed/distributed_c10d.py:1700:init_process_group", "start"),
        ("/site-packages/torch/nn/parallel/distributed.py:900:_ddp_init_helper", "start"),
    ],
)
def test_normal_long_phases_are_known(stack: str, phase: str | None) -> None:
    found = history(stack).phase
    assert (found.name if found else None) == phase


def test_every_phase_has_a_ceiling() -> None:
    assert all(phase.ceiling > 0 and phase.frames for phase in phases())


def test_a_data_loader_is_recognised() -> None:
    waiting = history(*["/torch/utils/data/dataloader.py:1:_next_data\n/job/train.py:3:main"] * 5)
    assert waiting.in_loader
    assert waiting.mostly_in_loader()


def test_nothing_sampled_is_no_loader_and_stuck_nowhere() -> None:
    assert not StackHistory().mostly_in_loader()
    assert StackHistory().phase is None
