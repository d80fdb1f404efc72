"""Train a tiny GPT as several pipelines (1F1B) side by side, whose ranks can change places while it runs.

torchrun --nproc-per-node=8 train_pipeline_data.py --pipeline 2 --data 4 --batch 32
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

import checkpoints
import data
import simulated
from evenpace.torch import Positions
from journal import Journal, options
from model import GPT, next_token_loss
from train_pipeline import stage_of

Parts = dict[str, Any]  # the module of a stage, and its optimizer


class OnAccelerator(nn.Module):
    """A stage on a simulated accelerator: a third of the time forwards, the rest backwards."""

    def __init__(self, stage: nn.Module, args: Any) -> None:
        super().__init__()
        rank = dist.get_rank()
        self.stage = stage
        self.forwards = simulated.Accelerator(args.compute_ms / 3, args.slow_file, rank)
        self.backwards = simulated.Accelerator(args.compute_ms * 2 / 3, args.slow_file, rank)

    def forward(self, x: Tensor) -> Tensor:
        began = time.perf_counter()
        out = self.stage(x)
        self.forwards.compute(began)
        return Backwards.apply(out, self.backwards)


class Backwards(torch.autograd.Function):
    """Nothing forwards; backwards the time of the simulated accelerator."""

    @staticmethod
    def forward(ctx: Any, out: Tensor, accelerator: simulated.Accelerator) -> Tensor:
        ctx.accelerator = accelerator
        return out.view_as(out)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        ctx.accelerator.compute(time.perf_counter())
        return gradient, None


class Training:
    """What depends on where this rank is: it is made anew when that changes."""

    def __init__(self, args: Any, positions: Positions, step: int) -> None:
        self.positions = positions
        self.first, self.last = positions.stage == 0, positions.stage == positions.pipeline - 1
        self.module: nn.Module = positions.parts["module"]
        self.optimizer: torch.optim.Optimizer = positions.parts["optimizer"]
        self.padding = int(args.padding_mb * 2**20) // torch.get_default_dtype().itemsize
        stage = PipelineStage(
            *(OnAccelerator(self.module, args), positions.stage, positions.pipeline, torch.device("cpu")),
            group=positions.pipeline_group,
        )
        self.schedule = Schedule1F1B(stage, n_microbatches=args.micro_batches, loss_fn=next_token_loss)
        # Every stage reads its replica's samples: the first needs the tokens, the last the targets.
        sampler = data.StepSampler(
            steps=args.steps,
            first_step=step,
            batch=args.batch,
            seed=args.seed,
            rank=positions.replica,
            world_size=positions.data,
        )
        self.batches = data.loader(sampler, args.length, args.read_ms)

    def step(self) -> tuple[list[int], float | None]:
        """Train a step; return the ids of the samples that this rank gave, and the loss if it has it."""
        ids, tokens, targets = next(self.batches)
        losses: list[Tensor] = []
        inputs = (tokens,) if self.first else ()
        if self.last:
            self.schedule.step(*inputs, target=targets, losses=losses)
        else:
            self.schedule.step(*inputs)
        self._average_gradients()
        self._clip()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return ids if self.first else [], self._loss(losses) if self.last else None

    def _average_gradients(self) -> None:
        """Average over the replicas of this stage; padding stands for the gradients of a larger model."""
        gradients = [parameter.grad.view(-1) for parameter in self.module.parameters()]
        flat = torch.cat([*gradients, torch.zeros(self.padding)])
        dist.all_reduce(flat, group=self.positions.data_group)
        flat /= self.positions.data
        *averaged, _ = flat.split([*map(len, gradients), self.padding])
        for gradient, average in zip(gradients, averaged, strict=True):
            gradient.copy_(average)

    def _clip(self, most: float = 1.0) -> None:
        """Clip the gradients of all stages by their common norm."""
        square = sum(parameter.grad.square().sum() for parameter in self.module.parameters())
        dist.all_reduce(square, group=self.positions.pipeline_group)
        for parameter in self.module.parameters():
            parameter.grad *= min(1.0, most / (float(square.sqrt()) + 1e-6))

    def _loss(self, losses: list[Tensor]) -> float | None:
        """Return the mean loss of all replicas; None where another rank says it."""
        loss = torch.stack(losses).mean().detach()
        dist.all_reduce(loss, group=self.positions.data_group)
        return float(loss) / self.positions.data if self.positions.replica == 0 else None


def builder(args: Any) -> Any:
    """Return what makes the parts of a stage, always alike."""

    def build(stage: int) -> Parts:
        torch.manual_seed(args.seed)
        module = stage_of(GPT(args.layers, args.width, args.length), stage, args.pipeline)
        return {"module": module, "optimizer": torch.optim.AdamW(module.parameters(), lr=1e-3)}

    return build


def save(folder: Path, step: int, positions: Positions) -> None:
    """Write a checkpoint that continues at `step`: one rank of each stage its parts, rank 0 the manifest."""
    aside = folder / f".step-{step:08d}.tmp"
    if dist.get_rank() == 0:
        aside = checkpoints.aside(folder, step)
    dist.barrier()
    if positions.replica == 0:
        states = {name: part.state_dict() for name, part in positions.parts.items()}
        torch.save(states, aside / f"stage{positions.stage}.pt")
    dist.barrier()
    if dist.get_rank() == 0:
        checkpoints.publish(aside, step)


def load(folder: Path | None, positions: Positions) -> int:
    """Load the newest complete checkpoint, if there is one; return the step to continue at."""
    found = checkpoints.newest(folder) if folder else None
    if not found:
        return 0
    step, path = found
    states = torch.load(path / f"stage{positions.stage}.pt", weights_only=True)
    for name, part in positions.parts.items():
        part.load_state_dict(states[name])
    print(f"continuing at step {step} from {path}", flush=True)
    return step


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--pipeline", type=int, default=2, help="stages")
    parser.add_argument("--data", type=int, default=1, help="replicas")
    parser.add_argument("--micro-batches", type=int, default=4, help="a step, of each replica")
    parser.add_argument("--padding-mb", type=float, default=0.0, help="more gradients to average")
    parser.add_argument("--float64", action="store_true", help="compute in double precision")
    simulated.add_options(parser)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64 if args.float64 else torch.float32)
    dist.init_process_group("gloo")

    positions = Positions(args.pipeline, args.data, builder(args), micro_batches=args.micro_batches)
    first_step = load(args.checkpoint_dir, positions)
    training = Training(args, positions, first_step)
    journal = Journal(dist.get_rank(), first_step, args.ids_log, args.timings)

    for step in range(first_step, args.steps):
        if positions.step():
            training = Training(args, positions, step)
        ids, loss = training.step()
        journal.step(step, ids, loss)
        if args.checkpoint_dir and (step + 1) % args.checkpoint_every == 0:
            save(args.checkpoint_dir, step + 1, positions)

    positions.close()
    journal.close()
    dist.barrier()  # nobody leaves with operations under way: Gloo can deadlock (pytorch#56297)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
