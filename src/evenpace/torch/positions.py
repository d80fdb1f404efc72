"""Ranks that change places in a job of pipelines with data parallelism, while it runs.

A position is `stage * data + replica`. Where evenpace has a plan, the state of stages moves in memory from
rank to rank, the process groups of who is affected are made anew, and the loop goes on; nothing is started
again.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from evenpace.torch import states, telling
from evenpace.torch.agreement import Agreement
from evenpace.torch.moving import Move, carried, described

_PATIENCE = timedelta(minutes=30)
_OFFERED_AT = 3  # the step by which optimizers have made their state


class Positions:
    """Say which stage and replica this rank is, until evenpace has another plan. To be made on all ranks.

    `build(stage)` makes what a stage consists of (its module, optimizer, scheduler, each with state_dict and
    load_state_dict), by name; `parts` is what it made for this rank. Replicas of a stage have to have equal
    states, as data parallelism keeps them. `pipeline_group` has the ranks of this replica by stage,
    `data_group` those of this stage by replica. `micro_batches` is how many a pipeline has in a step.
    Raises ValueError where there are not `pipeline * data` ranks.
    """

    def __init__(
        self, pipeline: int, data: int, build: Callable[[int], states.Parts], *, micro_batches: int
    ) -> None:
        if pipeline * data != dist.get_world_size():
            raise ValueError(f"{pipeline} x {data} positions for {dist.get_world_size()} ranks")
        self.pipeline, self.data, self.micro_batches = pipeline, data, micro_batches
        self._build, self._steps = build, 0
        self._control = dist.new_group(backend="gloo", timeout=_PATIENCE)
        self._agreement = Agreement("positions", pipeline * data, self._refuse)
        self.positions = tuple(range(pipeline * data))  # by rank
        self._groups: dict[tuple[int, ...], dist.ProcessGroup] = {}
        self._regroup()
        self.parts: states.Parts = build(self.stage)

    @property
    def stage(self) -> int:
        """Return the stage of this rank."""
        return self.positions[dist.get_rank()] // self.data

    @property
    def replica(self) -> int:
        """Return the replica of this rank."""
        return self.positions[dist.get_rank()] % self.data

    @property
    def pipeline_group(self) -> dist.ProcessGroup:
        """Return the group of this replica's ranks, in the order of stages."""
        return self._groups[self._pipelines(self.positions)[self.replica]]

    @property
    def data_group(self) -> dist.ProcessGroup:
        """Return the group of this stage's ranks, in the order of replicas."""
        return self._groups[self._rings(self.positions)[self.stage]]

    def step(self) -> bool:
        """Begin a step, to be called once a step by every rank; tell whether anything has changed.

        Then schedules, wrappers and data are to be made anew from `parts`, the groups, stage and replica.
        """
        self._steps += 1
        telling.tell(loop_step=self._steps)
        if self._steps == _OFFERED_AT:
            self._offer(self._gathered(states.size(self.parts)))
        plan = self._agreement.step()
        if plan is None:
            return False
        began = time.perf_counter_ns()
        if not self._change(plan.values):
            return False
        telling.tell(
            plan_step=self._steps, plan_pause_ns=time.perf_counter_ns() - began, plan_version=plan.version
        )
        return True

    def close(self) -> None:
        """End before the process groups do."""
        self._agreement.close()

    def _change(self, positions: tuple[int, ...]) -> bool:
        """Take new positions; tell whether it was possible for all ranks. If not, nothing has changed."""
        moves = Move.all(self.positions, positions, self.data)
        if moves and not self._moved(moves):
            return False
        self.positions = positions
        self._regroup()
        self._offer(self._gathered(states.size(self.parts)))
        return True

    def _moved(self, moves: list[Move]) -> bool:
        """Carry states out; tell whether all ranks could. What may fail is done before, and agreed upon."""
        stage = next((move.stage for move in moves if move.target == dist.get_rank()), None)
        ready = _Ready()
        if not self._all_do(lambda: ready.pack(self.parts, None if stage is None else self._build(stage))):
            return False
        theirs = described(moves, ready.description, self._control)
        if not self._all_do(lambda: ready.make_room(theirs)):
            return False
        carried(moves, ready.tensors, ready.empty)
        if ready.built is not None:
            for name, part in ready.built.items():
                part.load_state_dict(ready.states[name])
            self.parts = ready.built
        return True

    def _all_do(self, what: Callable[[], None]) -> bool:
        """Do something that may fail; tell whether it succeeded on all ranks."""
        why = ""
        try:
            what()
        except Exception as error:  # of any rank keeps all from moving; training goes on as it is
            why = f"{type(error).__name__}: {error}"
            telling.warn(f"rank {dist.get_rank()} cannot change its position: {why}")
        able = torch.tensor([not why], dtype=torch.int64)
        dist.all_reduce(able, dist.ReduceOp.MIN, group=self._control)
        return bool(able)

    def _regroup(self) -> None:
        """Make the groups that are not there yet, and destroy those that are no longer used."""
        wanted = [*self._pipelines(self.positions), *self._rings(self.positions)]
        old = {ranks: group for ranks, group in self._groups.items() if ranks not in wanted}
        for ranks in old:
            del self._groups[ranks]
        for ranks in wanted:
            if ranks not in self._groups:
                self._groups[ranks] = _group(ranks)
        dist.barrier(group=self._control)
        for ranks, group in old.items():
            if dist.get_rank() in ranks:
                dist.destroy_process_group(group)

    def _pipelines(self, positions: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the ranks of each replica, in the order of stages."""
        rank_at = _inverse(positions)
        return [tuple(rank_at[replica :: self.data]) for replica in range(self.data)]

    def _rings(self, positions: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the ranks of each stage, in the order of replicas."""
        rank_at = _inverse(positions)
        return [tuple(rank_at[i * self.data : (i + 1) * self.data]) for i in range(self.pipeline)]

    def _gathered(self, size: int) -> list[int]:
        """Return the bytes of state by stage; every rank gives its own."""
        sizes = [torch.zeros(1, dtype=torch.int64) for _ in self.positions]
        dist.all_gather(sizes, torch.tensor([size]), group=self._control)
        rank_at = _inverse(self.positions)
        return [int(sizes[rank_at[stage * self.data]]) for stage in range(self.pipeline)]

    def _offer(self, sizes: list[int]) -> None:
        if dist.get_rank() == 0 and _CHOOSES_ORDER:
            content = {"pipeline": self.pipeline, "data": self.data, "ranks": list(self.positions)}
            telling.offer("positions", content | {"bytes": sizes, "micro_batches": self.micro_batches})

    def _refuse(self, positions: Sequence[int]) -> str:
        """Say what is wrong with positions, nothing where they are good."""
        if not _CHOOSES_ORDER:
            return "this PyTorch cannot choose the order of ranks in a group"
        each_once = sorted(positions) == list(range(self.pipeline * self.data))
        return "" if each_once else "not every position has one rank"


class _Ready:
    """What a move needs of this rank: its own state, and the new stage with room for the state to come."""

    def __init__(self) -> None:
        self.description, self.tensors, self.empty = b"", list[torch.Tensor](), list[torch.Tensor]()
        self.built: states.Parts | None = None
        self.states: Any = None

    def pack(self, parts: states.Parts, built: states.Parts | None) -> None:
        """Describe the state of `parts`; `built` is the new stage, None where this rank keeps its own."""
        self.description, self.tensors = states.packed(parts)
        self.built = built

    def make_room(self, theirs: bytes) -> None:
        """Allocate the state that was described to this rank."""
        if self.built is not None:
            device = next((one.device for one in self.tensors if one.device.type != "cpu"), _CPU)
            self.states, self.empty = states.unpacked(theirs, device)


_CPU = torch.device("cpu")
_CHOOSES_ORDER = "sort_ranks" in inspect.signature(dist.new_group).parameters


def _group(ranks: tuple[int, ...]) -> dist.ProcessGroup:
    order: dict[str, Any] = {"sort_ranks": False} if _CHOOSES_ORDER else {}  # without it plans are refused
    group: dist.ProcessGroup = dist.new_group(list(ranks), **order)
    return group


def _inverse(positions: Sequence[int]) -> list[int]:
    """Return the rank at each position."""
    return sorted(range(len(positions)), key=positions.__getitem__)
