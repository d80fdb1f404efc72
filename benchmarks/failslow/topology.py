"""Positions: what moving slow links and ranks brings, how long training stands still, how exact it stays.

python benchmarks/failslow/topology.py [--only real|simulated|exactness|model|search] [--quick] [--write]

Real trainings (examples/train_pipeline_data.py, 8 Gloo workers) need root: every rank has a network namespace
of its own, so that links can be slowed. Prints tables; exit code 1 where a bar is missed.
"""
# ruff: noqa: E501  texts of a page

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent))

import page
import topology_simulated
from netns import Network, network
from topology_simulated import CUT, Fault
from uneven import Uneven

from evenpace.respond.mitigation.announcing import read_offers
from evenpace.respond.strategies import Cause, Edge, Estimate, Job, Trouble
from evenpace.respond.strategies.topology.strategy import TopologyStrategy

COMMAND = "make bench-failslow"
PAUSE, EXACT = 5.0, 1e-12  # the other bars
RANKS, MICRO_BATCHES, COMPUTE_MS, PADDING_MB = 8, 8, 15.0, 3.0
SLOW_LINK = 100e6  # bits a second; the others have 10 Gbit/s
SIZES = [f"--batch={RANKS * MICRO_BATCHES}", "--length=16", f"--micro-batches={MICRO_BATCHES}"]
SCRIPT = "train_pipeline_data.py"
CASES = (
    (2, 4, Fault("a link of a ring", links={(1, 2): 1.0})),
    (4, 2, Fault("a link of a ring", links={(2, 3): 1.0})),
    (4, 2, Fault("a ring's and a pipeline's link", links={(0, 1): 1.0, (4, 6): 1.0})),
    (4, 2, Fault("two ranks of a pipeline", factors={2: 2.0, 4: 2.0})),
)
PLANS = (
    [4, 1, 2, 3, 0, 5, 6, 7],
    [0, 2, 1, 3, 4, 5, 6, 7],
    [7, 6, 5, 4, 3, 2, 1, 0],
    [0, 1, 2, 3, 4, 5, 6, 7],
)


@dataclass(frozen=True, slots=True)
class Measured:
    """One fault in one real training; seconds an iteration, and what the plan took."""

    stages: int
    replicas: int
    fault: Fault
    healthy: float
    slow: float
    eased: float
    planned: float  # as the strategy said
    pause: float  # of the worker that stood longest
    longer: float  # the steps around the change, in all
    moved: int  # ranks that got a state
    size: int  # bytes of the largest

    @property
    def cut(self) -> float:
        """Return the share of the lost time that is no longer lost."""
        return (self.slow - self.eased) / (self.slow - self.healthy)


class Moving(Uneven):
    """A training whose ranks can change places."""

    def phase(self, steps: int) -> float:
        """Wait for so many steps from now on; return their median seconds."""
        first = self.step() + 2
        return statistics.median(self.printed(first, first + steps))

    def printed(self, first: int, end: int) -> list[float]:
        """Return the seconds of steps, once they are over."""
        self._until(lambda: end - 1 in self.seconds(), f"step {end}")
        seconds = self.seconds()
        return [seconds[step] for step in range(first, end)]

    def job(self, own: dict[int, float], traffic: dict[Edge, int]) -> Job:
        """Return what the strategy is told of it."""
        self.headers()
        offer = read_offers(self._headers[0].path).positions
        nodes = {rank: f"node{rank}" for rank in range(self.ranks)}
        return Job(tuple(range(self.ranks)), nodes, own=own, traffic=traffic, positions=offer)


def main() -> int:
    """Run the parts that were asked for; return the exit code."""
    parser = argparse.ArgumentParser(description="Measure positions.")
    parser.add_argument("--only", choices=list(PARTS), action="append", help="may be repeated")
    parser.add_argument("--quick", action="store_true", help="fewer steps and cases")
    parser.add_argument("--write", action="store_true", help="save docs/benchmarks/failslow_topology.md")
    args = parser.parse_args()
    texts, missed = [], []
    for name in args.only or PARTS:
        title, run = PARTS[name]
        text, of_part = run(args.quick)
        texts.append(f"## {title}\n\n{text}")
        missed += of_part
        print(f"\n{texts[-1]}\n", flush=True)
    verdict = "\n".join(f"- bar missed: {one}" for one in missed) or "All bars met."
    print(verdict)
    if args.write:
        page.save("failslow_topology", "Positions", COMMAND, "\n\n".join([*texts, verdict]))
    return 1 if missed else 0


def real(quick: bool) -> tuple[str, list[str]]:
    """Slow links and ranks of real trainings, and let the strategy move them."""
    rows, missed = [], []
    for stages, replicas, fault in CASES[:2] if quick else CASES:
        found = measured(stages, replicas, fault, 8 if quick else 20)
        rows.append(row(found))
        name = f"{stages} x {replicas}, {fault.name}"
        if fault.links and found.cut < CUT:
            missed.append(f"{name}: lost time cut by {found.cut:.0%}; at least {CUT:.0%}")
        if found.pause > PAUSE:
            missed.append(f"{name}: a pause of {found.pause:.1f} s; at most {PAUSE:g} s")
    head = (
        "stages x replicas",
        "slow",
        "healthy s",
        "slow s",
        "with S3 s",
        "said s",
        "cut",
        "pause ms",
        "longer ms",
        "states moved",
    )
    text = (
        f"{page.table(head, rows)}\n\n{RANKS} Gloo workers, each in a network namespace of its own; {MICRO_BATCHES} micro-batches of "
        f"{COMPUTE_MS:g} ms (simulated by sleeping) and {PADDING_MB:g} MB of gradients a stage, of which most are padding. Slow links "
        f"have {SLOW_LINK / 1e6:g} Mbit/s in both directions, all others 10 Gbit/s; slow ranks compute 2 times as long. The plan is "
        "the strategy's, from iteration times and who is slow; it takes effect in the running job. *said*: by the strategy, "
        "beforehand. *cut*: of the time lost. *pause*: of the worker that stood longest, for states and groups. *longer*: the steps "
        "around the change beyond the others, so with all that the loop makes anew."
    )
    return text, missed


def row(found: Measured) -> list[object]:
    """Return a row of the table."""
    return [
        *(
            f"{found.stages} x {found.replicas}",
            found.fault.name,
            f"{found.healthy:.3f}",
            f"{found.slow:.3f}",
        ),
        *(f"{found.eased:.3f}", f"{found.planned:.3f}", f"{found.cut:.0%}", f"{1e3 * found.pause:.0f}"),
        f"{1e3 * found.longer:.0f}",
        f"{found.moved} of {found.size / 1e6:.1f} MB" if found.moved else "none",
    ]


def measured(stages: int, replicas: int, fault: Fault, steps: int) -> Measured:
    """Train; slow, plan and announce, heal."""
    shape = [f"--pipeline={stages}", f"--data={replicas}", f"--layers={stages}", "--width=64", *SIZES]
    pace = [f"--compute-ms={COMPUTE_MS}", f"--padding-mb={PADDING_MB}", "--steps=2000"]
    with network(RANKS) as net, Moving(SCRIPT, RANKS, [*shape, *pace], net.environment()) as training:
        training.printed(0, 6)
        healthy = training.phase(steps)
        with slowed(net, training, fault):
            slow = training.phase(steps)
            plan = planned(training, fault, healthy, slow)
            training.announce(list(plan.positions), "positions")
            eased = training.phase(steps)
            headers = training.headers()
        at = headers[0].plan_step - 1
        around = training.printed(at - 1, at + 2)
        offer = read_offers(training._headers[0].path).positions
    assert offer is not None
    changed = sum(position // replicas != rank // replicas for rank, position in enumerate(plan.positions))
    return Measured(
        *(stages, replicas, fault, healthy, slow, eased, plan.iteration),
        pause=max(header.plan_pause_ns for header in headers) / 1e9,
        longer=sum(around) - slow - 2 * eased,
        moved=changed,
        size=max(offer.bytes),
    )


@contextmanager
def slowed(net: Network, training: Moving, fault: Fault) -> Iterator[None]:
    """Make links or ranks slow."""
    with ExitStack() as stack:
        for source, target in fault.both_ways:
            stack.enter_context(net.slow_pair(source, target, SLOW_LINK))
        training.slow(dict(fault.factors))
        yield
        training.slow({})


def planned(training: Moving, fault: Fault, healthy: float, slow: float) -> Estimate:
    """Ask the strategy, which is told what the controller knows."""
    own = {rank: MICRO_BATCHES * COMPUTE_MS / 1e3 * fault.factors.get(rank, 1.0) for rank in range(RANKS)}
    links = dict.fromkeys(fault.links, max(1.5, slow / healthy))  # as the controller without a probe takes it
    cause = Cause.LINK if links else Cause.COMPUTE
    trouble = Trouble(cause, healthy, slow, fault.factors, links)
    found = TopologyStrategy().estimate(trouble, training.job(own, {}))
    if found is None:
        raise RuntimeError(f"the strategy has no answer to {fault.name}")
    return found


def exactness(quick: bool) -> tuple[str, list[str]]:
    """Train twice in double precision, with everybody at their place and with plans that come and go."""
    steps = 60 if quick else 200
    reference, ids, _ = trained(steps, ())
    states, same, plans = trained(steps, PLANS)
    apart = max(float((reference[key] - states[key]).abs().max()) for key in reference)
    different = sum(ids[step] != same[step] for step in range(steps))
    head = ("stages x replicas", "steps", "plans in force", "largest difference", "steps with other samples")
    missed = [f"parameters differ by {apart:.1e}; at most {EXACT:g}"] if apart > EXACT else []
    missed += [f"other samples in {different} of {steps} steps; in none"] if different else []
    text = (
        f"{page.table(head, [['2 x 4', steps, plans, f'{apart:.1e}', different]])}\n\nThe example in float64 with AdamW and gradients "
        "clipped by their global norm, on 8 Gloo workers: all parameters at the end of a run in which ranks change their places within "
        "and across stages and back, against one in which nobody does."
    )
    return text, missed


def trained(steps: int, plans: Sequence[list[int]]) -> tuple[dict[str, Any], dict[int, list[int]], int]:
    """Train with plans in turn; return the parameters, the samples of each step, and how many plans there were."""
    import torch

    shape = ["--pipeline=2", "--data=4", "--layers=2", "--width=32", *SIZES, "--float64"]
    announced = 0
    with Moving(SCRIPT, RANKS, [f"--steps={steps}", f"--checkpoint-every={steps}", *shape]) as training:
        training.printed(0, 4)
        while plans and training.step() < steps - 30:
            training.wait_step(training.step() + 8)
            training.announce(plans[announced % len(plans)], "positions")
            announced += 1
        training.finish()
        files = [training.home / f"step-{steps:08d}" / f"stage{stage}.pt" for stage in range(2)]
        modules = [torch.load(path, weights_only=True)["module"] for path in files]
        return (
            {
                f"{stage}.{key}": value
                for stage, module in enumerate(modules)
                for key, value in module.items()
            },
            training.ids(),
            announced,
        )


PARTS: dict[str, tuple[str, Callable[[bool], tuple[str, list[str]]]]] = {
    "real": ("Real trainings", real),
    "simulated": ("128 simulated ranks", lambda _: topology_simulated.effect()),
    "exactness": ("Exactness", exactness),
    "search": ("Search", lambda quick: topology_simulated.searching(18 if quick else 300)),
    "model": ("Cost model", lambda quick: topology_simulated.model(90 if quick else 600)),
}


if __name__ == "__main__":
    sys.exit(main())
