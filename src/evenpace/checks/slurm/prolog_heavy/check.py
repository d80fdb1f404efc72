"""Judge whether Prolog and Epilog are done within seconds."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import quoted, script_subject
from evenpace.collect.slurm.shell import commands, lines

ROLES = {"Prolog", "Epilog"}
LONG = {"gpu_burn", "gpu-burn", "all_reduce_perf", "all_gather_perf", "alltoall_perf", "stress-ng", "fio"}
ASKING = {"squeue", "sacct", "sinfo", "sacctmgr"}  # each node of a large job asks the controller at once
PAUSE = 30.0  # seconds
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for each script: the first command that takes minutes or asks the controller."""
    for script in slurm.scripts:
        if script.role not in ROLES:
            continue
        slow = next((line for line in lines(script.text) if heavy(line)), None)
        if slow is None:
            yield FINE
        else:
            details = {"role": script.role, "path": script.path}
            yield Gap(script_subject(script), (quoted(script, slow),), details)


def heavy(line: str) -> bool:
    """Tell whether a line that the script waits for runs something heavy."""
    return not line.endswith("&") and any(slow(words) for words in commands(line))


def slow(words: list[str]) -> bool:
    """Tell whether a command takes minutes, or asks slurmctld or slurmdbd."""
    name, rest = words[0].rpartition("/")[2], words[1:]
    if name == "sleep" and rest:
        return seconds(rest[0]) >= PAUSE
    if name == "dcgmi" and rest[:1] == ["diag"]:
        return level(rest) in ("2", "3", "4")
    return name in LONG or name in ASKING


def level(words: list[str]) -> str:
    """Return the level of `dcgmi diag -r 3`, `--run 3`, `--run=3`, `-r3`; 1 takes seconds."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word in ("-r", "--run"):
            return following
        if word.startswith(("-r", "--run=")):
            return word.removeprefix("--run=").removeprefix("-r")
    return ""


def seconds(written: str) -> float:
    """Return `90` or `2m` in seconds; 0 for what is no time."""
    unit = UNITS.get(written[-1:], 0.0)
    count = written[:-1] if unit else written
    return float(count) * (unit or 1.0) if count.isascii() and count.isdigit() else 0.0
