"""How fast are logs read? A gigabyte over 512 files, beside ripgrep and grep on the same strings.

python benchmarks/diagnose.py [--size 1000] [--files 512] [--folder DIR] [--write]

`--size` is in MB (10^6 bytes). Each program runs in a process of its own, with the logs in the page cache;
its largest memory is that of the process and its children together. Exit code 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import logs
import page
import psutil

from evenpace.diagnose.gate import ALARMS, telling

SPEED_BAR, MEMORY_BAR = 150e6, 500e6
OURS = [sys.executable, "-m", "evenpace", "diagnose", "--format", "json"]


def main() -> int:
    """Measure."""
    arguments = _arguments()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="evenpace-logs-"))
    try:
        if not any(folder.glob("*.log")):
            logs.write(folder, arguments.files, arguments.size * 1_000_000)
        return _measure(folder, arguments)
    finally:
        if arguments.folder is None:
            shutil.rmtree(folder)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--size", type=int, default=1000, help="of all logs, in MB")
    parser.add_argument("--files", type=int, default=512, help="to which they are spread")
    parser.add_argument("--folder", type=Path, help="where the logs are, or are written to and kept")
    parser.add_argument("--write", action="store_true", help="write the page of the documentation")
    return parser.parse_args()


def _measure(folder: Path, arguments: argparse.Namespace) -> int:
    size = sum(path.stat().st_size for path in folder.glob("*.log"))
    words = folder / "words.txt"
    words.write_text("\n".join(dict.fromkeys([*(text for text, _ in telling()), *ALARMS])), encoding="utf-8")
    files = sorted(str(path) for path in folder.glob("*.log"))
    programs = {
        "evenpace diagnose": [*OURS, *files],
        "rg -c -F": ["rg", "-c", "-F", "-f", str(words), *files],
        "grep -c -F": ["grep", "-c", "-F", "-f", str(words), *files],
        "cat": ["cat", *files],
    }
    rows, ours = [], (0.0, 0.0)
    subprocess.run(programs["cat"], stdout=subprocess.DEVNULL, check=True)
    for name, command in programs.items():
        if shutil.which(command[0]) is None:
            rows.append((name, "not installed", "", ""))
            continue
        seconds, memory = min(_run(command) for _ in range(3))
        rows.append((name, f"{seconds:.2f} s", f"{size / seconds / 1e6:,.0f} MB/s", f"{memory / 1e6:.0f} MB"))
        ours = (size / seconds, memory) if command[:3] == OURS[:3] else ours
    head = (f"{size / 1e9:.2f} GB, {len(files)} files", "time", "speed", "memory")
    text = page.table(head, rows)
    print(text)
    if arguments.write:
        page.save("diagnose", "Reading logs", "make bench-diagnose", text)
    return 0 if ours[0] >= SPEED_BAR and ours[1] <= MEMORY_BAR else 1


def _run(command: list[str]) -> tuple[float, float]:
    """Return seconds and the largest memory of a command with its children, in bytes."""
    started = time.perf_counter()
    with (
        tempfile.TemporaryFile() as sink,  # not /dev/null, at which grep stops at its first match
        subprocess.Popen(command, stdout=sink, env={**os.environ, "PYTHONHASHSEED": "0"}) as process,
    ):
        peak = [0.0]
        watcher = threading.Thread(target=_watch, args=(process, peak))
        watcher.start()
        process.wait()
        seconds = time.perf_counter() - started
        watcher.join()
    if process.returncode not in (0, 1):
        raise SystemExit(f"{command[0]} failed with {process.returncode}: nothing was measured")
    return seconds, peak[0]


def _watch(process: subprocess.Popen[bytes], peak: list[float]) -> None:
    while process.poll() is None:
        try:
            root = psutil.Process(process.pid)
            each = [root, *root.children(recursive=True)]
            peak[0] = max(peak[0], sum(_private(one) for one in each))
        except psutil.Error:
            pass
        time.sleep(0.02)


def _private(process: psutil.Process) -> float:
    """Return what a process holds, pages shared by a fork counted once by their share."""
    try:
        return float(process.memory_full_info().pss)
    except psutil.Error:
        return 0.0


if __name__ == "__main__":
    sys.exit(main())
