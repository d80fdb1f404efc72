"""The trainings of the reaction bench, and what is done to them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from netns import Network
from watched import Watched

from evenpace import faults
from evenpace.faults.target import aim

COMMON = ("--steps=4000", "--read-ms=100")
PACES = (1.8, 2.2, 3.0)  # that a slowed link aims at


@dataclass(frozen=True, slots=True)
class Training:
    """One training, and how many injections of each kind it gets.

    `slow` and `cpu` are strengths of the faults `slow` and `cpu-contention`, for a job 1.2 to 3 times slower;
    `traffic` is about how many bytes of an iteration wait for one link.
    """

    script: str
    ranks: int
    counts: dict[str, int]
    slow: tuple[float, ...]
    cpu: tuple[float, ...]
    traffic: float
    arguments: tuple[str, ...] = ()


PIPELINE = {"slow": 3, "cpu-contention": 2, "pair": 6}
TRAININGS = {
    "ddp-4": Training(
        *("train_ddp.py", 4, {"slow": 5, "cpu-contention": 2, "two-slow": 1, "pair": 1, "uplink": 1}),
        *((7.0, 10.0, 14.0), (0.9, 1.1), 1.4e6),
    ),
    "ddp-8": Training(
        *("train_ddp.py", 8, {"slow": 5, "cpu-contention": 2, "two-slow": 1, "pair": 1, "uplink": 1}),
        *((12.0, 16.0, 20.0), (1.6, 1.9), 0.7e6),
        ("--layers=2", "--batch=8"),
    ),
    "fsdp2-4": Training(
        *("train_fsdp2.py", 4, {"slow": 5, "cpu-contention": 2, "two-slow": 1, "pair": 1, "uplink": 1}),
        *((5.0, 7.0, 9.0), (1.0, 1.2), 1e6),
        ("--layers=2", "--batch=8"),
    ),
    "fsdp2-8": Training(
        *("train_fsdp2.py", 8, {"slow": 4, "cpu-contention": 2, "two-slow": 1, "pair": 1}),
        *((7.0, 9.0, 12.0), (1.6, 1.9), 0.7e6),
        ("--layers=1", "--batch=8"),
    ),
    "pipeline-4": Training(
        *("train_pipeline.py", 4, PIPELINE, (8.0, 11.0, 14.0), (1.5, 1.8), 3e5),
        ("--length=64", "--micro-batches=4"),
    ),
    "pipeline-8": Training(
        *("train_pipeline.py", 8, PIPELINE, (10.0, 14.0, 18.0), (1.2, 1.5), 1.2e5),
        ("--length=64", "--micro-batches=8", "--layers=8"),
    ),
}


@dataclass(frozen=True, slots=True)
class Injection:
    """What is done to a training: `ranks` are slowed, or the link from the first to the second of them.

    `strength` is the fault's factor, or the pace that a slow link aims at.
    """

    kind: str  # slow, cpu-contention, two-slow, pair, uplink
    ranks: tuple[int, ...]
    strength: float

    @property
    def of_link(self) -> bool:
        """Tell whether a link is slowed."""
        return self.kind in ("pair", "uplink")


def plan(name: str) -> list[Injection]:
    """Return the injections of a training, in an order by chance that is always the same."""
    training = TRAININGS[name]
    chance = random.Random(f"reaction {name}")  # noqa: S311  victims, not secrets
    made = [_one(chance, training, kind) for kind, count in training.counts.items() for _ in range(count)]
    chance.shuffle(made)
    return made


def _one(chance: random.Random, training: Training, kind: str) -> Injection:
    first = chance.randrange(training.ranks)
    if kind == "two-slow":
        return Injection(kind, tuple(sorted(chance.sample(range(training.ranks), 2))), training.slow[-1])
    if kind in ("slow", "cpu-contention"):
        return Injection(kind, (first,), chance.choice(training.cpu if kind != "slow" else training.slow))
    ring = "pipeline" not in training.script  # where Gloo sends from each rank to the one before it
    back = ring or first == training.ranks - 1 or (first > 0 and chance.random() < 0.5)
    return Injection(kind, (first, (first + (-1 if back else 1)) % training.ranks), chance.choice(PACES))


@contextmanager
def caused(
    what: Injection, training: Training, watched: Watched, net: Network, usual: float
) -> Iterator[None]:
    """Cause an injection while the context lasts; `usual` is the healthy iteration in seconds."""
    with ExitStack() as stack:
        if what.of_link:
            bits = training.traffic * 8 / ((what.strength - 1) * usual)
            source, target = what.ranks
            slowed = net.slow_pair(source, target, bits) if what.kind == "pair" else None
            stack.enter_context(slowed or net.slow_uplink(source, bits))
        else:
            fault = faults.find("slow" if what.kind == "two-slow" else what.kind)
            for rank in what.ranks:
                stack.enter_context(fault.inject(aim(watched.worker(rank).pid, what.strength)))
        yield
