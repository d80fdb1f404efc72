"""What topology.py shows without workers: the cost model, the search, and 128 simulated ranks."""
# ruff: noqa: E501, S311  texts of a page; noise

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import permutations

import numpy as np
import page

from evenpace.respond.strategies import Cause, Edge, Job, PositionOffer, Trouble
from evenpace.respond.strategies.topology import cost
from evenpace.respond.strategies.topology.cost import Condition, Ranks, Shape
from evenpace.respond.strategies.topology.search import AS_GOOD, search
from evenpace.respond.strategies.topology.strategy import TopologyStrategy
from evenpace.simulate.layout import Layout, iteration

CUT = 0.6  # of the lost time, for links
SECONDS = {128: 1.0, 1024: 5.0}  # for a search, by ranks
CLOSE = 0.05  # of an iteration: the cost model to the simulation
NOISE = 0.02  # of each piece of work, in the simulation
REPEATS = 5
BANDWIDTH = 50e9
UPLINK = "an uplink"
STAGES, REPLICAS, MICRO_BATCHES = 16, 8, 32


@dataclass(frozen=True, slots=True)
class Fault:
    """What is slow, and how many times as long as healthy it takes."""

    name: str
    factors: Mapping[int, float] = field(default_factory=dict)
    links: Mapping[Edge, float] = field(default_factory=dict)

    @property
    def both_ways(self) -> dict[Edge, float]:
        """Return the links in both directions."""
        return {pair: factor for edge, factor in self.links.items() for pair in (edge, edge[::-1])}

    @property
    def cause(self) -> Cause:
        """Return what the strategy is told."""
        return Cause.LINK if self.links else Cause.COMPUTE


def faults(replicas: int, ranks: int) -> list[Fault]:
    """Return the faults of the table."""
    chosen = random.Random(0).sample(range(ranks), 6)
    return [
        Fault("a link of a ring", links={(1, 2): 8.0}),
        Fault("a link of a pipeline", links={(3 * replicas, 4 * replicas): 20.0}),
        Fault("links of three rings", links={(1, 2): 8.0, (replicas, replicas + 1): 5.0, (40, 41): 12.0}),
        Fault("all links between two nodes", links={(a, b): 8.0 for a in range(4) for b in range(4, 8)}),
        Fault(UPLINK, links={(3, b): 4.0 for b in range(ranks) if b != 3}),
        Fault("one slow rank", factors={7 * replicas + 2: 2.0}),
        Fault("four in one pipeline", factors={replicas * s + 5: 2.0 for s in (2, 5, 9, 14)}),
        Fault("a node of four, each in its own", factors={4 * replicas + d: 1.5 for d in range(4)}),
        Fault("six anywhere", factors=dict.fromkeys(chosen, 1.7)),
    ]


def shape(stages: int, replicas: int, micro_batches: int) -> Shape:
    """Return a job: activations a twentieth of a micro-batch, gradients a tenth of an iteration."""
    each = np.full(stages, 0.01)
    ring = 0.1 * micro_batches * 0.03 * BANDWIDTH * replicas / 2 / (replicas - 1)
    return Shape(
        replicas, micro_batches, each, 2 * each, 0.05 * 0.01 * BANDWIDTH, np.full(stages, ring), BANDWIDTH
    )


def simulated(made: Shape, ranks: Ranks, fault: Fault, noise: float = NOISE) -> float:
    """Return the median seconds of simulated iterations."""
    rng = random.Random(1)
    layout = Layout(
        *(ranks.tolist(), made.micro_batches, made.forward.tolist(), made.backward.tolist()),
        *(made.activation, made.gradients.tolist(), made.bandwidth, fault.factors, fault.both_ways),
        jitter=lambda _: max(0.5, rng.gauss(1.0, noise)) if noise else 1.0,
    )
    return statistics.median(iteration(layout) for _ in range(REPEATS if noise else 1))


def effect() -> tuple[str, list[str]]:
    """Cut what faults cost 128 simulated ranks, by the strategy and by the published rules."""
    made, missed, rows = shape(STAGES, REPLICAS, MICRO_BATCHES), [], []
    seats = np.arange(STAGES * REPLICAS).reshape(STAGES, REPLICAS)
    healthy = simulated(made, seats, Fault("none"))
    for fault in faults(REPLICAS, seats.size):
        slow = simulated(made, seats, fault)
        planned = plan(made, seats, fault, healthy, slow)
        eased = simulated(made, planned, fault)
        by_rules = rules(seats, fault)
        published = (
            "-" if by_rules is None else f"{(slow - simulated(made, by_rules, fault)) / (slow - healthy):.0%}"
        )
        bound = search(made, Condition.of(seats.size, fault.factors, fault.links), seats).bound
        cut = (slow - eased) / (slow - healthy)
        rows.append(
            [
                *(fault.name, f"{slow / healthy:.2f}", f"{eased / healthy:.2f}", f"{cut:.0%}"),
                *(published, f"{bound / healthy:.2f}"),
                *(int((planned != seats).sum()), int((stages(planned) != stages(seats)).sum())),
            ]
        )
        if fault.links and fault.name != UPLINK and cut < CUT:
            missed.append(f"{fault.name}: lost time cut by {cut:.0%}; at least {CUT:.0%}")
    head = (
        "fault",
        "slow",
        "with S3",
        "cut",
        "published rules",
        "bound",
        "ranks elsewhere",
        "that move state",
    )
    text = (
        f"{page.table(head, rows)}\n\n{STAGES} stages x {REPLICAS} replicas, {MICRO_BATCHES} micro-batches, simulated "
        f"event by event with {NOISE:.0%} noise on each piece of work. *slow*, *with S3*: iteration time to the healthy "
        "one. *cut*: of the time lost. *published rules*: the same by Greyhound's (ATC '25): one end of a slow link changes "
        "its stage, slow ranks are packed into interior stages. *bound*: what no assignment beats. An uplink that is slow "
        "to all others is in a ring wherever it is; slow ranks stay slow: neither has a bar."
    )
    return text, missed


def plan(made: Shape, seats: Ranks, fault: Fault, healthy: float, slow: float) -> Ranks:
    """Return the strategy's assignment: it knows what the tap measures, and neither shape nor bandwidth."""
    stage_count, replicas = seats.shape
    own = made.micro_batches * (made.forward + made.backward)
    ring = int(made.gradients[0] * 2 * (replicas - 1) / replicas)
    rings = {(int(a), int(b)): ring for row in seats for a, b in zip(row, np.roll(row, -1), strict=True)}
    along = int(made.activation * made.micro_batches)
    pipelines = {(int(a), int(b)): along for a, b in zip(seats[:-1].flat, seats[1:].flat, strict=True)}
    job = Job(
        ranks=tuple(range(seats.size)),
        nodes={},
        own={r: float(own[r // replicas]) * fault.factors.get(r, 1.0) for r in range(seats.size)},
        traffic=rings | pipelines,
        positions=PositionOffer(
            *(stage_count, replicas, tuple(range(seats.size)), (10**9,) * stage_count, made.micro_batches)
        ),
    )
    found = TopologyStrategy().estimate(Trouble(fault.cause, healthy, slow, fault.factors, fault.links), job)
    return np.argsort(found.positions).reshape(seats.shape) if found else seats


def rules(seats: Ranks, fault: Fault) -> Ranks | None:
    """Return the assignment by the rules of the paper, which has no search; None where they say nothing."""
    if fault.name == UPLINK:
        return None
    ranks, replicas = seats.copy(), seats.shape[1]
    for _, rank in fault.links:
        stage, replica = divmod(int(np.flatnonzero(ranks == rank)[0]), replicas)
        other = stage + 1 if stage + 1 < len(ranks) else stage - 1
        ranks[stage, replica], ranks[other, replica] = ranks[other, replica], ranks[stage, replica]
    middle = len(ranks) // 2 * replicas
    for i, rank in enumerate(sorted(fault.factors)):
        at = int(np.flatnonzero(ranks == rank)[0])
        ranks.flat[[middle + i, at]] = ranks.flat[[at, middle + i]]
    return ranks


def stages(ranks: Ranks) -> Ranks:
    """Return the stage of each rank."""
    return np.argsort(ranks, axis=None) // ranks.shape[1]


def model(cases: int) -> tuple[str, list[str]]:
    """Compare the cost model with the simulation in random cases."""
    rng = np.random.default_rng(0)
    apart: dict[str, list[float]] = {"ranks": [], "links": [], "both": []}
    for case in range(cases):
        stage_count, replicas = int(rng.integers(1, 9)), int(rng.integers(2, 9))
        size = stage_count * replicas
        made = shape(stage_count, replicas, int(rng.integers(1, 33)))
        made = replace(made, forward=made.forward * rng.uniform(0.8, 1.2, stage_count))
        kind = list(apart)[case % 3]
        slow, ends = rng.choice(size, 2), rng.choice(size, 2, replace=False)
        fault = Fault(
            kind,
            {} if kind == "links" else {int(rank): float(rng.uniform(1.1, 2.5)) for rank in slow},
            {} if kind == "ranks" else {(int(ends[0]), int(ends[1])): float(rng.uniform(2, 10))},
        )
        seats = rng.permutation(size).reshape(stage_count, replicas)
        said = float(cost.iteration(made, Condition.of(size, fault.factors, fault.links), seats))
        apart[kind].append(said / simulated(made, seats, fault, noise=0.0) - 1)
    rows = [
        [f"slow {name}", len(of), f"{np.median(of):.2%}", f"{np.quantile(of, 0.95):.2%}", f"{max(of):.2%}"]
        for name, of in apart.items()
    ]
    head = ("slow", "cases", "median", "95 %", "largest")
    over = [name for name, of in apart.items() if name != "both" and np.quantile(of, 0.95) > CLOSE]
    text = (
        f"{page.table(head, rows)}\n\nHow much longer the model takes an iteration for than the simulation without noise; never "
        "shorter. It lets a ring begin when its last member is ready, which overstates it where a slow link is elsewhere."
    )
    return text, [f"the cost model is more than {CLOSE:.0%} off with slow {name}" for name in over]


def searching(cases: int) -> tuple[str, list[str]]:
    """Time searches, and compare small ones with trying everything."""
    rows, missed = [], []
    for stage_count, replicas, micro_batches in ((16, 8, 32), (32, 32, 64)):
        made = shape(stage_count, replicas, micro_batches)
        seats = np.arange(stage_count * replicas).reshape(stage_count, replicas)
        took, over = [], []
        for fault in faults(replicas, seats.size):
            began = time.perf_counter()
            found = search(made, Condition.of(seats.size, fault.factors, fault.links), seats)
            took.append(time.perf_counter() - began)
            over.append(found.seconds / found.bound)
        rows.append(
            [seats.size, len(took), f"{statistics.median(took):.2f}", f"{max(took):.2f}", at_bound(over)]
        )
        if max(took) > SECONDS[seats.size]:
            missed.append(f"{seats.size} ranks take {max(took):.1f} s; at most {SECONDS[seats.size]:g} s")
    optimal = sum(as_good_as_everything(case) for case in range(cases))
    if optimal < cases:
        missed.append(f"optimal in {optimal} of {cases} small cases; all")
    head = ("ranks", "faults", "seconds (median)", "longest", "at the lower bound")
    text = (
        f"{page.table(head, rows)}\n\nThe faults of the table above. In {optimal} of {cases} random cases with 4 to 8 ranks the "
        f"search is within {AS_GOOD:.1%} of the best of all assignments (so much it gives up for fewer moves)."
    )
    return text, missed


def at_bound(over: list[float]) -> str:
    """Say how many reached the bound."""
    return f"{sum(one <= 1 + AS_GOOD for one in over)} of {len(over)}"


def as_good_as_everything(case: int) -> bool:
    """Compare the search with all assignments of a small random job."""
    rng = np.random.default_rng(case)
    stage_count, replicas = ((2, 2), (2, 3), (3, 2), (2, 4), (4, 2), (1, 4))[case % 6]
    size = stage_count * replicas
    made = shape(stage_count, replicas, int(rng.integers(1, 17)))
    factors = {int(rank): float(rng.uniform(1.1, 2.5)) for rank in rng.choice(size, rng.integers(0, 4))}
    pairs = (rng.choice(size, 2, replace=False) for _ in range(rng.integers(0, 4)))
    condition = Condition.of(size, factors, {(int(a), int(b)): float(rng.uniform(2, 10)) for a, b in pairs})
    every = np.array(list(permutations(range(size)))).reshape(-1, stage_count, replicas)
    best = min(float(cost.iteration(made, condition, part).min()) for part in np.array_split(every, 9))
    found = search(made, condition, rng.permutation(size).reshape(stage_count, replicas))
    return found.seconds <= best * (1 + 2 * AS_GOOD)
