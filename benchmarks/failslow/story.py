"""The whole story: one training, ten slow GPUs and two slow links, watched only and eased.

python benchmarks/failslow/story.py [--quick] [--write]

Half an hour of trouble, compressed: 8 Gloo workers (replicas of one stage), each in a network namespace of
its own (needs root), on simulated accelerators. The same script of events runs twice: watched, and eased.
*The network*: found to be slow, not which link of it; a ring laid anew may avoid that link all the same.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent))

import page
from netns import Network, network
from watched import Watched

from evenpace.errors import Problem
from evenpace.findings import several
from evenpace.respond.mitigation.announcing import read_header, read_offers
from evenpace.respond.mitigation.loop import ring_of
from evenpace.watch.events import Adapted, Decision, FindingRaised, IncarnationStarted, Probed, seconds

RANKS, MICRO_BATCHES, COMPUTE_MS, PADDING_MB = 8, 20, 12.0, 1.0
SLOW_LINK = 30e6  # bits a second
ARGUMENTS = [
    *("--pipeline=1", f"--data={RANKS}", "--layers=0", "--width=16", "--length=4"),
    *(f"--batch={RANKS * MICRO_BATCHES}", f"--micro-batches={MICRO_BATCHES}", f"--compute-ms={COMPUTE_MS}"),
    *(f"--padding-mb={PADDING_MB}", "--steps=100000"),
]
HEALTHY = 20.0  # seconds before the first event
NETWORK = "communication-slow"
RECOVERED = 0.75  # of the lost throughput: the bar
PUBLISHED = "58.9 %"  # Greyhound, USENIX ATC'25: 10 compute and 2 communication events on 256 GPUs


@dataclass(frozen=True, slots=True)
class Trouble:
    """Rank `rank` takes `factor` times as long, or its link to the next in the ring is slow: in seconds."""

    start: float
    duration: float
    rank: int
    factor: float = 1.0

    @property
    def is_link(self) -> bool:
        """Tell whether a link is slow, and not the rank."""
        return self.factor == 1.0

    @property
    def name(self) -> str:
        """Say what it is."""
        return f"link of rank {self.rank}" if self.is_link else f"rank {self.rank} x {self.factor:g}"


COMPUTE, LINK, PAUSE = 20.0, 26.0, 3.0  # seconds: of an event, and between two


def script() -> tuple[Trouble, ...]:
    """Return the events: weak, medium and severe as published, 3, 5 and 2 of the compute events."""
    told = ((2, 1.6), (5, 1.3), (1, 1.0), (7, 1.6), (0, 2.2), (3, 1.3))
    told += ((6, 1.6), (6, 1.0), (4, 2.2), (1, 1.6), (6, 1.3), (2, 1.6))
    events, start = [], 0.0
    for rank, factor in told:
        events.append(Trouble(start, LINK if factor == 1.0 else COMPUTE, rank, factor))
        start += events[-1].duration + PAUSE
    return tuple(events)


@dataclass(frozen=True, slots=True)
class Played:
    """One run of the script: iterations a minute when healthy and over all events, what was said."""

    healthy: float
    troubled: float
    events: list[object]
    began: float  # epoch seconds of the first event
    links: dict[Trouble, tuple[int, int]]  # that were slow


def main() -> int:
    """Play the story twice; return the exit code."""
    parser = argparse.ArgumentParser(description="Play a day of slow GPUs and links.")
    parser.add_argument("--quick", action="store_true", help="the first three events only")
    parser.add_argument("--write", action="store_true", help="save docs/benchmarks/failslow_story.md")
    parser.add_argument("--keep", type=Path, help="keep events.jsonl of the eased run here")
    args = parser.parse_args()
    events = script()[:3] if args.quick else script()
    watched, eased = (play(policy, events, args.keep) for policy in ("observe", "adapt"))
    text, missed = told(watched, eased, events)
    verdict = "\n".join(f"- bar missed: {one}" for one in missed) or "All bars met."
    print(f"\n{text}\n\n{verdict}")
    if args.write:
        page.save("failslow_story", "A whole story", "make bench-failslow", f"{text}\n\n{verdict}")
    return 1 if missed else 0


def play(policy: str, script: tuple[Trouble, ...], keep: Path | None) -> Played:
    """Train under a policy while the script happens."""
    end = script[-1].start + script[-1].duration + PAUSE
    with tempfile.TemporaryDirectory() as home, network(RANKS) as net:
        slow_file = Path(home) / "slow.json"
        slow_file.write_text("{}")
        arguments = [*ARGUMENTS, f"--slow-file={slow_file}"]
        with Watched("train_pipeline_data.py", arguments, net.environment(), RANKS, policy) as training:
            training.more_iterations(60, 120)
            counts = [steps(training)]
            training.pause(HEALTHY)
            counts.append(steps(training))
            began = time.time()
            links = happen(script, end, training, net, slow_file)
            counts.append(steps(training))
            training.run.read()
            events = list(training.run.events)
            if keep and policy != "observe":
                keep.write_bytes((training.folder / "events.jsonl").read_bytes())
    healthy, troubled = (counts[1] - counts[0]) / HEALTHY * 60, (counts[2] - counts[1]) / end * 60
    print(f"{policy}: {healthy:.0f} a minute, then {troubled:.0f}", flush=True)
    return Played(healthy, troubled, events, began, links)


def steps(training: Watched) -> int:
    """Return how many steps the loop has begun by now, as its own ring says."""
    (started,) = [one for one in training.run.events if isinstance(one, IncarnationStarted)]
    header = read_header(ring_of(Path(started.rings), training.worker(0)))
    if header is None:
        raise Problem("the training has ended before its time")
    return header.loop_step


def happen(
    script: tuple[Trouble, ...], end: float, training: Watched, net: Network, slow_file: Path
) -> dict[Trouble, tuple[int, int]]:
    """Let every event begin and end at its time; return which links were slow."""
    began, links = time.monotonic(), dict[Trouble, tuple[int, int]]()
    for trouble in script:
        wait_until(began + trouble.start, training)
        with ExitStack() as slow:
            if trouble.is_link:
                links[trouble] = trouble.rank, next_in_ring(training, trouble.rank)
                slow.enter_context(slow_link(net, *links[trouble]))
            else:
                slow.enter_context(slow_rank(slow_file, trouble))
            wait_until(began + trouble.start + trouble.duration, training)
    wait_until(began + end, training)
    return links


def wait_until(moment: float, training: Watched) -> None:
    """Let the training go on until then, by time.monotonic."""
    training.pause(max(0.0, moment - time.monotonic()))


def next_in_ring(training: Watched, rank: int) -> int:
    """Return whom a rank sends to in the ring as it is now: a plan may have laid it anew."""
    (started,) = [one for one in training.run.events if isinstance(one, IncarnationStarted)]
    positions = read_offers(ring_of(Path(started.rings), training.worker(0))).positions
    places = positions.ranks if positions else tuple(range(RANKS))
    return places.index((places[rank] + 1) % RANKS)


@contextmanager
def slow_rank(slow_file: Path, trouble: Trouble) -> Iterator[None]:
    """Make a rank's accelerator slow."""
    slow_file.write_text(json.dumps({str(trouble.rank): trouble.factor}))
    try:
        yield
    finally:
        slow_file.write_text("{}")


@contextmanager
def slow_link(net: Network, one: int, other: int) -> Iterator[None]:
    """Shape a link in both directions."""
    with net.slow_pair(one, other, SLOW_LINK), net.slow_pair(other, one, SLOW_LINK):
        yield


# --- what came of it ---


def found(trouble: Trouble, played: Played) -> tuple[str, list[int]]:
    """Tell what was found of an event while it lasted, and which innocent ranks were accused meanwhile."""
    first = played.began + trouble.start
    said = [
        one
        for one in played.events
        if isinstance(one, FindingRaised | Probed)
        and first <= seconds(one.time) < first + trouble.duration + 2
    ]
    wanted = set(played.links.get(trouble, (trouble.rank,)))
    accused = [set(accused_by(one)) for one in said]
    innocent = sorted({rank for one in accused for rank in one - wanted})
    if wanted in accused:
        return "yes", innocent
    network = [one for one in said if isinstance(one, FindingRaised) and one.finding.fault == NETWORK]
    return ("the network" if network and trouble.is_link else ""), innocent


def accused_by(event: FindingRaised | Probed) -> list[int]:
    """Return the ranks that a finding or a measurement says are slow, or the ends of the slow links."""
    if isinstance(event, Probed):
        return [*event.slow_ranks, *(rank for link in event.slow_links for rank in link)]
    return list(several(event.finding.subject.rank))


def told(watched: Played, eased: Played, script: tuple[Trouble, ...]) -> tuple[str, list[str]]:
    """Return the page's text and the bars that were missed."""
    healthy = statistics.mean((watched.healthy, eased.healthy))
    recovered = (eased.troubled - watched.troubled) / (healthy - watched.troubled)
    results = [(one, *found(one, eased)) for one in script]
    adapted = [one for one in eased.events if isinstance(one, Adapted)]
    decisions = [one for one in eased.events if isinstance(one, Decision)]
    restarts = [one for one in decisions if "restart" in one.action]
    rows = [(one.name, f"{one.duration:g}", what or "NO", innocent or "-") for one, what, innocent in results]
    summary = page.table(
        ("", "iterations a minute"),
        [
            ("healthy", f"{healthy:.0f}"),
            ("the events, watched only", f"{watched.troubled:.0f}"),
            ("the events, eased", f"{eased.troubled:.0f}"),
            ("lost throughput recovered", f"{recovered:.1%} (published: {PUBLISHED})"),
            (
                "plans that took effect / failed",
                f"{sum(not one.failed for one in adapted)} / {sum(bool(one.failed) for one in adapted)}",
            ),
            ("longest pause for a plan", f"{max((one.pause for one in adapted), default=0):.2f} s"),
            ("measurements, longest pause", measured(eased)),
            ("restarts, or said to be worth one", str(len(restarts))),
            ("largest loss at one decision", f"{max((one.lost for one in decisions), default=0):.1f} s"),
        ],
    )
    table = page.table(("event", "seconds", "found", "innocent ranks named"), rows)
    text = f"{(__doc__ or '').split(chr(10) * 2, 2)[2].strip()}\n\n{summary}\n\n{table}"
    missed = []
    if recovered < RECOVERED:
        missed.append(f"{recovered:.1%} of the lost throughput recovered; at least {RECOVERED:.0%}")
    missed += [f"{one.name} was not found" for one, what, _ in results if not what]
    missed += [f"innocents named during {one.name}: {innocent}" for one, _, innocent in results if innocent]
    missed += ["a restart"] * bool(restarts)
    return text, missed


def measured(played: Played) -> str:
    """Sum the measurements up."""
    probes = [one for one in played.events if isinstance(one, Probed)]
    return f"{len(probes)}, {max((one.pause for one in probes), default=0):.2f} s"


if __name__ == "__main__":
    sys.exit(main())
