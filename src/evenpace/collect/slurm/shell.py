"""Read shell scripts as far as one can without running them: commands, what they hand on, #SBATCH lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LONGEST = 1 << 18  # characters of a script that are looked at
_JOINTS = re.compile(r"\$\(|&&|\|\||[;|&(){}`]")
_EXPANDED = re.compile(r"\$\{[^{}]{0,200}\}")
_REDIRECTED = re.compile(r"[0-9&]?[<>]")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*\+?=")
_FUNCTION = re.compile(r"^\s*(?:function\s+)?([A-Za-z_][\w-]*)\s*\(\s*\)|^\s*function\s+([A-Za-z_][\w-]*)")
_KEYWORD_WORDS = "if then elif else fi while until do done for case esac in ! time exec command eval"
_FRONT_WORDS = "timeout sudo nice ionice env nohup flock"
# Programs of the system that look at nothing but what stands in the line.
_PLAIN_WORDS = """
alias awk basename break cat cd chmod chown continue cp cut date declare df dirname dmesg du echo
egrep exit export false fgrep find free getent grep head hostname id ip journalctl kill let ln local
logger ls lsmod lsof mail mkdir mktemp mount mountpoint mv nproc pgrep ping pkill printf ps read
readonly return rm scontrol sed seq set shift sinfo sleep sort squeue ss stat sync systemctl tail
tee test touch tr trap true ulimit umask uname uniq unset uptime wait wc [ [[ :
"""
_KEYWORDS = frozenset(_KEYWORD_WORDS.split())
_FRONTS = frozenset(_FRONT_WORDS.split())
_PLAIN = frozenset(_PLAIN_WORDS.split())
_OPTION = re.compile(r"--([A-Za-z][\w-]*)(?:[= ]\s*(\S+))?|-([A-Za-z])\s*(\S+)?")


def lines(text: str) -> Iterator[str]:
    """Yield the lines of a script without comments, lines that go on joined."""
    held = ""
    for raw in text[:_LONGEST].splitlines():
        line = f"{held}{_uncommented(raw)}".rstrip()
        held = ""
        if line.endswith("\\"):
            held = f"{line[:-1]} "
        elif line.strip():
            yield line.strip()
    if held.strip():
        yield held.strip()


def commands(line: str) -> Iterator[list[str]]:
    """Yield the words of each simple command in a line, without keywords, assignments and `timeout 30`."""
    for part in _JOINTS.split(_EXPANDED.sub("$_", line)):
        words = part.split()
        start = _start(words)
        if start < len(words):
            yield words[start:]


def _start(words: list[str]) -> int:
    """Return where the command itself begins; behind the last word where there is none."""
    place = 0
    while place < len(words) and (words[place] in _KEYWORDS or _ASSIGNED.match(words[place])):
        if words[place] in ("for", "case"):  # what follows is a name, not a command
            return len(words)
        place += 1
    if place < len(words) and _REDIRECTED.match(words[place]):
        return len(words)
    while place < len(words) and words[place] in _FRONTS:
        place += 1
        while place < len(words) and _of_front(words[place]):
            place += 1
    return place


def _of_front(word: str) -> bool:
    """Tell whether a word belongs to `timeout`, `env` or their like: an option, a number, a variable."""
    return word.startswith("-") or word[:1].isdigit() or "=" in word


def handed_on(text: str) -> str:
    """Return the first command whose work this text does not show; empty where all is to be seen in it."""
    own = functions(text)
    for line in lines(text):
        for words in commands(line):
            name = words[0].strip("\"'")
            if name and name.rpartition("/")[2] not in _PLAIN and name not in own:
                return name
    return ""


def functions(text: str) -> frozenset[str]:
    """Return the names of the functions that a script defines."""
    matches = [match for match in map(_FUNCTION.match, lines(text)) if match]
    return frozenset(match[1] or match[2] for match in matches)


def directives(text: str) -> dict[str, str]:
    """Return the `#SBATCH` options of a batch script by their long names (`-N 4` → `nodes`: `4`)."""
    found: dict[str, str] = {}
    for line in text[:_LONGEST].splitlines():
        if line.startswith("#SBATCH"):
            for match in _OPTION.finditer(_uncommented(line[7:])):
                long, value, short, other = match.groups()
                name = long or _SHORT.get(short, short)
                found[name] = (value if long else other) or ""
        elif line.strip() and not line.startswith("#"):
            break
    return found


_SHORT = {
    "N": "nodes",
    "n": "ntasks",
    "o": "output",
    "e": "error",
    "t": "time",
    "p": "partition",
    "J": "job-name",
    "G": "gpus",
}


def _uncommented(line: str) -> str:
    if line.lstrip().startswith("#"):
        return ""
    head, sign, _ = line.partition(" #")
    return head if sign else line
