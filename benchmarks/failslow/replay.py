"""What-if replay of traces: does it name what was planted, does it accuse innocents, how long does it take.

python benchmarks/failslow/replay.py [--traces FOLDER] [--peer FOLDER --peer-python PYTHON] [--quick] [--write]

FOLDER holds traces in the layout of what-if analysis (`.parquet` or `.csv`); those with a published figure
(trace-AR, trace-SE, trace-ST of github.com/ByteDance-Seed/StragglerAnalysis) are compared with it. --peer is a
checkout of that repository: its own analysis is timed beside ours. Prints tables; exit code 1 where a bar is
missed.
"""
# ruff: noqa: E501, S311  texts of a page, and made traces

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent.parent))

import page
from tests.simulate.made import Job, trace, write

from evenpace.simulate.replay import Replay, replay
from evenpace.simulate.whatif.analysis import Blame, Cause

ROOT = Path(__file__).parent.parent.parent
SEEDS = 20
CLOSE = 0.001  # to a published slowdown
MATTERS = 0.03  # of a step
NOISE = (0.01, 0.02, 0.05)
FACTORS = (1.2, 1.5, 2.0, 3.0)
MW, MS = "share of the worst 3 % of workers", "share of the last stage"


@dataclass(frozen=True, slots=True)
class Published:
    """What arXiv 2505.05713 gives for a trace, and what the right answer is."""

    slowdown: float
    shares: dict[str, float]
    cause: Cause
    names: tuple[str, ...]
    truth: str


PUBLISHED = {
    "trace-AR": Published(
        1.973, {MW: 1.00}, Cause.WORKER, ("0",), "one worker slowed on purpose: dp 0, stage 0"
    ),
    "trace-SE": Published(1.537, {MS: 0.69}, Cause.STAGE, ("1",), "unequal sequences, and a long last stage"),
    "trace-ST": Published(1.179, {MS: 1.22}, Cause.STAGE, ("3",), "a long last stage"),
}

Work = Callable[[int, int, int, int], float]


def main() -> int:
    """Run the parts and print them; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--traces", type=Path)
    parser.add_argument("--peer", type=Path)
    parser.add_argument("--peer-python", default=sys.executable)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    parts = [planted(3 if given.quick else SEEDS)]
    if given.traces:
        parts.append(
            recorded(sorted(given.traces.glob("*.parquet")) + sorted(given.traces.glob("*.csv")), given)
        )
    text = "\n\n".join(text for text, _ in parts)
    missed = [bar for _, bars in parts for bar in bars]
    print(text)
    if given.write:
        arguments = " --traces FOLDER --peer FOLDER" if given.traces else ""
        page.save(
            "failslow_replay",
            "What-if replay of traces",
            f"python benchmarks/failslow/replay.py{arguments} --write",
            text,
        )
    print("\n".join(f"bar {bar} missed" for bar in missed))
    return 1 if missed else 0


# --- Traces made with a known cause ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Case:
    """A job whose slowness is planted: `cause` and `names` are right; `accusing` where a culprit is right."""

    title: str
    job: Job
    causes: tuple[Cause, ...]
    names: tuple[str, ...]


def noisy(seed: int, spread: float) -> Work:
    """Return work that varies at random, a micro-batch at a time."""

    def work(replica: int, stage: int, step: int, mb: int) -> float:
        return max(0.1, random.Random(f"{seed} {replica} {stage} {step} {mb}").gauss(1, spread))

    return work


def cases(seed: int, spread: float) -> Iterator[Case]:
    """Yield the jobs of a seed: one of each cause, at each strength."""
    rng = random.Random(seed)
    replicas, stages = rng.choice([4, 8]), rng.choice([1, 2, 4])
    usual = noisy(seed, spread)
    slow = (rng.randrange(replicas), rng.randrange(stages))
    rank = str(slow[0] * stages + slow[1])
    nobody = (Cause.NONE, Cause.NOBODY, Cause.UNEVEN, Cause.STAGE)
    yield Case("healthy", Job(replicas, stages, work=usual), nobody, ())
    for factor in FACTORS:

        def one(d: int, s: int, t: int, m: int, factor: float = factor) -> float:
            return usual(d, s, t, m) * (factor if (d, s) == slow else 1.0)

        yield Case(f"worker {factor} x", Job(replicas, stages, work=one), (Cause.WORKER,), (rank,))
    yield from _structural(replicas, usual, slow)


def _structural(replicas: int, usual: Work, slow: tuple[int, int]) -> Iterator[Case]:
    def heavy(d: int, s: int, t: int, m: int) -> float:
        return usual(d, s, t, m) * (1.5 if s == 3 else 1.0)

    def unequal(d: int, s: int, t: int, m: int) -> float:
        return usual(d, s, t, m) * random.Random(f"{d} {t} {m}").choice([0.5, 1.0, 1.0, 2.0])

    def replica(d: int, s: int, t: int, m: int) -> float:
        return usual(d, s, t, m) * (1.5 if d == slow[0] else 1.0)

    def link(way: str, d: int, s: int) -> float:
        return 2.0 if (way, d, s) == ("forward", slow[0], 1) else 0.01

    yield Case("last stage 1.5 x", Job(replicas, 4, work=heavy), (Cause.STAGE,), ("3",))
    yield Case("unequal sequences", Job(replicas, 2, work=unequal), (Cause.UNEVEN, Cause.STAGE), ())
    yield Case("one replica 1.5 x", Job(replicas, 2, work=replica), (Cause.REPLICA,), (str(slow[0]),))
    ranks = f"{slow[0] * 4 + 1} -> {slow[0] * 4 + 2}"
    yield Case("one link", Job(replicas, 4, work=usual, transfer=link), (Cause.LINK,), (ranks,))


def planted(seeds: int) -> tuple[str, list[str]]:
    """Replay traces with a planted cause; return the table and the bars missed."""
    counts: dict[str, list[int]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(seeds):
            for spread in NOISE:
                for case in cases(seed, spread):
                    found = replay(write(Path(folder) / "trace.csv", trace(case.job)))
                    row = counts.setdefault(case.title, [0, 0, 0, 0])
                    right = _right(found, case)
                    row[0] += 1
                    row[1] += right
                    row[2] += not right and _cost(found, case) < MATTERS
                    row[3] += bool(_accused(found) - set(case.names))
    missed = [
        f"{title}: right in >= 99 %"
        for title, (total, right, small, _) in counts.items()
        if right < 0.99 * (total - small)
    ]
    missed += [f"{title}: no innocent accused" for title, (*_, wrong) in counts.items() if wrong]
    head = ["planted", "traces", "named right", "unnamed, below 3 % of a step", "innocents accused"]
    table = page.table(head, [(title, *row) for title, row in counts.items()])
    note = (
        f"Traces are made by following a 1F1B schedule operation by operation ({seeds} seeds, noise of "
        f"{', '.join(f'{one:.0%}' for one in NOISE)} on each micro-batch, 4 or 8 replicas, 1 to 4 stages): simulated. "
        "Right is the cause with exactly the worker, replica, link or stage; of a healthy job, that nobody is accused. "
        "A worker that costs less than 3 % of a step may go unnamed: there is little to explain."
    )
    verdict = (
        f"bar right in >= 99 % of each that matters, no innocent accused: {'missed' if missed else 'met'}"
    )
    return f"{table}\n\n{note}\n\n{verdict}", missed


def _blames(found: Replay) -> list[Blame]:
    return [blame for section in found.sections for blame in section.whatif.blames]


def _right(found: Replay, case: Case) -> bool:
    blame = found.sections[0].whatif.blames[0]
    return blame.cause in case.causes and (
        not case.names or tuple(part.name for part in blame.parts) == case.names
    )


def _cost(found: Replay, case: Case) -> float:
    """Return what part of the ideal step a planted worker costs; all of it where something else is planted."""
    whatif = found.sections[0].whatif
    shares = [part.share or 0.0 for part in whatif.workers if part.name in case.names]
    return shares[0] * (whatif.slowdown - 1) if shares and case.causes == (Cause.WORKER,) else 1.0


def _accused(found: Replay) -> set[str]:
    """Return who is accused, by the what-if or by the detector."""
    accusing = (Cause.WORKER, Cause.LINK, Cause.REPLICA)
    named = {part.name for blame in _blames(found) if blame.cause in accusing for part in blame.parts}
    return named | {str(rank) for spell in found.spells if spell.told for rank in spell.ranks}


# --- Recorded traces ----------------------------------------------------------------------------------------------------


def recorded(paths: list[Path], given: argparse.Namespace) -> tuple[str, list[str]]:
    """Replay recorded traces; return the tables and the bars missed."""
    rows, missed = [], []
    for path in paths:
        found = replay(path)
        whatif = found.sections[0].whatif
        known = PUBLISHED.get(path.stem)
        shares = {MW: whatif.worst, MS: whatif.last_stage}
        rows.append(
            (
                path.stem.removeprefix("trace-"),
                f"{found.ranks}",
                f"{found.operations:,}",
                f"{whatif.slowdown:.4f}",
                f"{known.slowdown:.3f}" if known else "-",
                ", ".join(
                    f"{shares[name]:.2f} ({'M_W' if name == MW else 'M_S'}, published {value:.2f})"
                    for name, value in known.shares.items()
                )
                if known
                else "-",
                _verdict(whatif.blames),
                known.truth if known else "-",
                ", ".join(f"rank {rank}" for spell in found.spells for rank in spell.ranks) or "nobody",
            )
        )
        missed += _misses(path, found, shares, known)
    head = [
        "trace",
        "workers",
        "operations",
        "S",
        "published",
        "shares",
        "verdict",
        "truth",
        "detector names",
    ]
    text = page.table(head, rows)
    text += f"\n\nbar S within {CLOSE} of the published, shares within 0.01, the right cause first: {'missed' if missed else 'met'}"
    return f"{text}\n\n{speed(paths, given)}", missed


def _verdict(blames: tuple[Blame, ...]) -> str:
    return "; ".join(
        f"{blame.cause} {', '.join(part.name for part in blame.parts)}".strip() + f" {blame.share:.0%}"
        for blame in blames
    )


def _misses(path: Path, found: Replay, shares: dict[str, float], known: Published | None) -> Iterator[str]:
    if known is None:
        return
    whatif = found.sections[0].whatif
    if abs(whatif.slowdown - known.slowdown) > CLOSE:
        yield f"{path.stem}: S as published"
    if any(abs(shares[name] - value) > 0.01 for name, value in known.shares.items()):
        yield f"{path.stem}: shares as published"
    first = whatif.blames[0]
    if first.cause is not known.cause or tuple(part.name for part in first.parts) != known.names:
        yield f"{path.stem}: {known.truth}"


def speed(paths: list[Path], given: argparse.Namespace) -> str:
    """Time whole commands: ours, and the peer's where its checkout is given; the best of three each."""
    rows = []
    for path in paths:
        ours = _best([sys.executable, "-m", "evenpace", "replay", str(path), "--format", "json"], ROOT)
        row = [path.stem.removeprefix("trace-"), f"{ours:.2f} s"]
        if given.peer:
            theirs = _peer(path, given)
            row += ["-", "-"] if theirs is None else [f"{theirs:.2f} s", f"{theirs / ours:.1f}"]
        rows.append(row)
    head = ["trace", "evenpace replay"] + (["StragglerAnalysis wia.py", "ratio"] if given.peer else [])
    note = "Whole commands, the best of three, start of Python and reading included."
    if given.peer:
        note += (
            " The peer's gives S, S_t and S by replica and stage; M_W and M_S are two further commands of it."
        )
    return f"{page.table(head, rows)}\n\n{note}"


def _best(command: list[str], folder: Path) -> float:
    times = []
    for _ in range(3):
        began = time.perf_counter()
        subprocess.run(
            command, check=True, capture_output=True, cwd=folder, env=os.environ | {"PYTHONPATH": str(folder)}
        )
        times.append(time.perf_counter() - began)
    return min(times)


def _peer(path: Path, given: argparse.Namespace) -> float | None:
    meta = path.with_name(f"{path.stem.replace('trace-', 'meta-')}.yaml")
    if not meta.exists():
        return None
    with tempfile.TemporaryDirectory() as out:
        files = ["--metadata", str(meta.resolve()), "--trace", str(path.resolve()), "--dump-dir", out]
        return _best([given.peer_python, "analyzer/wia.py", *files], given.peer)


if __name__ == "__main__":
    sys.exit(main())
