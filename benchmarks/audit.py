"""How fast is an audit of a large cluster? A whole `evenpace audit` beside `kubectl get` of the same objects.

python benchmarks/audit.py [--nodes 7100] [--runs 3] [--write]

The emulator serves a fleet with all gaps that fit together. Both clients are fresh processes that take turns;
kubectl prints JSON to nowhere, one call for all kinds. Exit code 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import page

from evenpace.checks.catalogue import checks
from evenpace.demo.cluster import kubeconfig

SECONDS_BAR, MEMORY_BAR, FLOOR_BAR = 20.0, 400.0, 2.0  # s, MiB, times kubectl
HEAD = ("client", "seconds (median)", "all", "CPU seconds", "largest memory")
SERVE = """
import sys, threading
from evenpace.demo.cluster.fleet import filled
from evenpace.demo.cluster.gaps import seed, together
from evenpace.demo.cluster.server import Emulator
store = filled(int(sys.argv[1]))
for steps in together().values():
    seed(store, steps)
emulator = Emulator(store)
counts = {name: len(store.objects(name)[0]) for name in store.resources}
print(emulator.url, counts["nodes"], counts["pods"], sum(counts.values()), flush=True)
threading.Event().wait()
"""


@dataclass(frozen=True, slots=True)
class Taken:
    """Hold what one process took: seconds, seconds of CPU, MiB at its largest."""

    seconds: float
    cpu: float
    memory: float


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "--nodes",
        type=int,
        default=7100,
        help="so many have 40,000 pods: some gaps take away those of a DaemonSet",
    )
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--write", action="store_true")
    asked = options.parse_args()
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        print("kubectl is not installed: it is the floor that the audit is compared with", file=sys.stderr)
        return 2
    text, met = measured(kubectl, asked.nodes, asked.runs)
    print(text)
    if asked.write:
        page.save("audit", "Audit of a large cluster", "make bench-audit", text)
    return 0 if met else 1


def measured(kubectl: str, nodes: int, runs: int) -> tuple[str, bool]:
    """Serve, measure both clients in turns, and return (page, whether all bars are met)."""
    command = [sys.executable, "-c", SERVE, str(nodes)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url, *counts = server.stdout.readline().split()
        with tempfile.TemporaryDirectory() as folder:
            return compared(kubectl, url, list(map(int, counts)), runs, Path(folder))
    finally:
        server.kill()
        server.communicate()


def compared(kubectl: str, url: str, counts: list[int], runs: int, folder: Path) -> tuple[str, bool]:
    config = folder / "config"
    kubeconfig.write(config, url)
    own = [check for check in checks().values() if check.family == "kubernetes"]
    kinds = sorted({kind for check in own for kind in check.kinds})
    audit = [sys.executable, "-m", "evenpace", "audit", "--kubeconfig", str(config), "--format", "json"]
    floor = [kubectl, "get", ",".join(kinds), "--all-namespaces", "--output=json", f"--kubeconfig={config}"]
    took: dict[str, list[Taken]] = {"evenpace audit": [], "kubectl get": []}
    timed(floor, folder)  # kubectl keeps what it discovered
    for _ in range(runs):
        took["kubectl get"].append(timed(floor, folder))
        took["evenpace audit"].append(timed([*audit, "--output", os.devnull], folder))
    return told(took, counts, len(own), len(kinds))


def timed(command: list[str], home: Path) -> Taken:
    """Run a command with its output thrown away; raises CalledProcessError but for found gaps (1)."""
    environment = {**os.environ, "HOME": str(home)}
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise subprocess.CalledProcessError(process.returncode, command)
    return Taken(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def told(took: dict[str, list[Taken]], counts: list[int], known: int, kinds: int) -> tuple[str, bool]:
    middle = {name: statistics.median(one.seconds for one in found) for name, found in took.items()}
    memory = max(one.memory for one in took["evenpace audit"])
    ratio = middle["evenpace audit"] / middle["kubectl get"]
    bars = {
        f"a whole audit in ≤ {SECONDS_BAR:g} s": middle["evenpace audit"] <= SECONDS_BAR,
        f"at most {MEMORY_BAR:g} MiB": memory <= MEMORY_BAR,
        f"≤ {FLOOR_BAR:g} times `kubectl get`": ratio <= FLOOR_BAR,
    }
    rows = [row(name, found) for name, found in took.items()]
    nodes, pods, all_ = counts
    text = f"""\
{nodes} nodes and {pods} pods ({all_} objects of all kinds) with all gaps that fit together, served
by the emulator (`evenpace demo-cluster`) on the same machine; lists are packed with gzip. {known} checks
read {kinds} kinds. Each run is a fresh process from start to end; the two clients take turns. kubectl
fetches the same kinds and prints them as JSON.

{page.table(HEAD, rows)}

The audit takes {ratio:.2f} times as long as `kubectl get`, and at most {memory:.0f} MiB.

{"; ".join(f"bar {bar}: {'met' if held else 'missed'}" for bar, held in bars.items())}."""
    return text, all(bars.values())


def row(name: str, found: list[Taken]) -> tuple[str, ...]:
    seconds = [one.seconds for one in found]
    return (
        f"`{name}`",
        f"{statistics.median(seconds):.1f}",
        ", ".join(f"{one:.1f}" for one in seconds),
        f"{statistics.median(one.cpu for one in found):.1f}",
        f"{max(one.memory for one in found):.0f} MiB",
    )


if __name__ == "__main__":
    sys.exit(main())
