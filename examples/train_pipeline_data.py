"""Train a tiny GPT as several pipelines (1F1B) side by side: ranks change places, slow pipelines do less.

torchrun --nproc-per-node=8 train_pipeline_data.py --pipeline 2 --data 4 --batch 32
The product of stages and replicas is the number of workers. Under `evenpace run --policy adapt` positions and
micro-batches change by themselves; README.md shows how to see that.
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
from evenpace.torch import MicroBatches, Positions, Share
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
        self.seconds: list[float] = []  # of each forward and each backward

    def forward(self, x: Tensor) -> Tensor:
        began = time.perf_counter()
        out = self.stage(x)
        self.forwards.compute(began)
        self.seconds.append(time.perf_counter() - began)
        return Backwards.apply(out, self)

    def taken(self) -> list[float]:
        """Return what a micro-batch of the step took, forwards and backwards, and begin anew."""
        seconds, self.seconds = self.seconds, []
        # Without a simulated accelerator the backward pass is not seen here, so nothing is said.
        return [2 * sum(seconds) / len(seconds)] if seconds and self.forwards.seconds else []


class Backwards(torch.autograd.Function):
    """Nothing forwards; backwards the time of the simulated accelerator."""

    @staticmethod
    def forward(ctx: Any, out: Tensor, module: OnAccelerator) -> Tensor:
        ctx.module = module
        return out.view_as(out)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        began = time.perf_counter()
        ctx.module.backwards.compute(began)
        ctx.module.seconds.append(time.perf_counter() - began)
        return gradient, None


class Training:
    """What depends on where this rank is and what it does: it is made anew when that changes."""

    def __init__(
        self, args: Any, positions: Positions, share: Share, sampler: data.MicroBatchSampler
    ) -> None:
        self.positions, self.share, self.sampler = positions, share, sampler
        self.first, self.last = positions.stage == 0, positions.stage == positions.pipeline - 1
        self.module: nn.Module = positions.parts["module"]
        self.optimizer: torch.optim.Optimizer = positions.parts["optimizer"]
        self.padding = int(args.padding_mb * 2**20) // torch.get_default_dtype().itemsize
        self.accelerated = OnAccelerator(self.module, args)
        stage = PipelineStage(
            *(self.accelerated, positions.stage, positions.pipeline, torch.device("cpu")),
            group=positions.pipeline_group,
        )
        self.schedule = Schedule1F1B(
            stage, n_microbatches=share.count, loss_fn=self._scaled_loss, scale_grads=False
        )
        self.corpus = data.Corpus(args.length, args.read_ms)

    def step(self, step: int) -> tuple[list[int], float | None]:
        """Train a step; return the ids of the samples that this rank gave, and the loss if it has it."""
        ids, tokens, targets = self.corpus.__getitems__(self._samples(step))
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

    def _samples(self, step: int) -> list[int]:
        """Return the samples of this replica: the first stage needs the tokens, the last the targets."""
        mine = range(self.share.first, self.share.first + self.share.count)
        return [sample for index in mine for sample in self.sampler.ids(step, index)]

    def _scaled_loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        return next_token_loss(logits, targets) * self.share.scale

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
        loss = torch.stack(losses).sum().detach()
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
    parser.add_argument(
        "--micro-batches", type=int, default=4, help="a step, of each replica where all are well"
    )
    parser.add_argument("--padding-mb", type=float, default=0.0, help="more gradients to average")
    parser.add_argument("--float64", action="store_true", help="compute in double precision")
    simulated.add_options(parser)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64 if args.float64 else torch.float32)
    dist.init_process_group("gloo")

    positions = Positions(args.pipeline, args.data, builder(args), micro_batches=args.micro_batches)
    first_step = load(args.checkpoint_dir, positions)
    batches = MicroBatches(
        args.micro_batches * args.data,
        model=positions.parts["module"],
        group=positions.data_group,
        least=args.pipeline,
    )
    sampler = data.MicroBatchSampler(
        steps=args.steps, batch=args.batch, micro_batches=args.micro_batches * args.data, seed=args.seed
    )
    journal = Journal(dist.get_rank(), first_step, args.ids_log, args.timings)
    training: Training | None = None

    for step in range(first_step, args.steps):
        moved = positions.step()
        if moved:
            batches.regroup(positions.parts["module"], positions.data_group)
        share = batches.share()
        if training is None or moved or share.changed:
            training = Training(args, positions, share, sampler)
        ids, loss = training.step(step)
        batches.took(training.accelerated.taken())
        journal.step(step, ids, loss)
        if args.checkpoint_dir and (step + 1) % args.checkpoint_every == 0:
            save(args.checkpoint_dir, step + 1, positions)

    batches.close()
    positions.close()
    journal.close()
    dist.barrier()  # nobody leaves with operations under way: Gloo can deadlock (pytorch#56297)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
