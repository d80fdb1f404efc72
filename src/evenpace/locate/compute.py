"""Which workers are slow, or wrong, at the same piece of arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evenpace.locate.peers import level, peers

SLOW = 1.2  # times what was to be expected: a hot GPU is 20 % slower (Falcon, arXiv 2410.12588)
Times = Mapping[str, float]  # seconds by number format, such as bf16


@dataclass(frozen=True, slots=True)
class Worker:
    """What a worker measured: seconds by number format, values that came out wrong, and what it runs on.

    Only workers with the same `hardware` are peers.
    """

    rank: int
    times: Times
    wrong: int = 0
    hardware: str = ""


@dataclass(frozen=True, slots=True)
class ComputeVerdict:
    """A worker's time beside what was to be expected, in the format in which it is worst."""

    rank: int
    seconds: float
    expected: float
    slow: bool
    wrong: int = 0

    @property
    def ratio(self) -> float:
        """Return how many times what was expected it took."""
        return self.seconds / self.expected


def judge_compute(workers: Sequence[Worker], healthy: Mapping[int, Times]) -> list[ComputeVerdict]:
    """Compare each worker with its peers' median and with its own first healthy measurement, the lower.

    Without a peer and without a healthy measurement nobody is slow. Wrong values are reported whatever the
    time. A worker that measured nothing has no verdict.
    """
    worst: dict[int, ComputeVerdict] = {}
    for name in {name for worker in workers for name in worker.times}:
        able = [worker for worker in workers if name in worker.times]
        others = peers([worker.times[name] for worker in able], [worker.hardware for worker in able])
        for worker, its_peers in zip(able, others, strict=True):
            seconds = worker.times[name]
            usual = level(its_peers, healthy.get(worker.rank, {}).get(name), seconds, SLOW)
            one = ComputeVerdict(worker.rank, seconds, usual.expected, usual.slow(seconds), worker.wrong)
            worst[worker.rank] = max(worst.get(worker.rank, one), one, key=lambda it: (it.slow, it.ratio))
    return [worst[worker.rank] for worker in workers if worker.rank in worst]
