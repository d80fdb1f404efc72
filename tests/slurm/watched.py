"""What a command and all that it starts do to the machine, as the kernel sees it: by strace."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# Calls that change a file system or its files, whatever their arguments are.
CHANGING = {
    *("creat", "truncate", "ftruncate", "fallocate", "rename", "renameat", "renameat2", "unlink", "unlinkat"),
    *("mkdir", "mkdirat", "rmdir", "mknod", "mknodat", "link", "linkat", "symlink", "symlinkat"),
    *("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat"),
    *("utime", "utimes", "utimensat", "futimesat", "setxattr", "lsetxattr", "fsetxattr", "removexattr"),
    *("lremovexattr", "fremovexattr", "mount", "umount2", "pivot_root", "chroot", "swapon", "swapoff"),
}
OPENING = {"open", "openat", "openat2"}
FOR_WRITING = re.compile(r"O_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND|TMPFILE)\b")
SIGNALLING = {"kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal"}
STARTING = {"execve", "execveat"}
CALLS = CHANGING | OPENING | SIGNALLING | STARTING | {"connect"}
_CALL = re.compile(r"(\w+)\((.*)\)\s+= (-?\w+|\?)")
_TEXT = r'"(?:[^"\\]|\\.)*"'
_PROGRAM = re.compile(rf"{_TEXT}, \[({_TEXT}(?:, {_TEXT})*)\]")
_PATH = re.compile(r'"((?:[^"\\]|\\.)*)"|^\d+<([^>]*)>')


@dataclass(frozen=True, slots=True)
class Watched:
    """Hold what was done: commands started, "call path" of what was changed or opened to be changed.

    `signalled` has "call arguments" of signals to processes that are not among those watched, `connected` the
    addresses of sockets. What was tried and failed is there as well, but for programs.
    """

    returned: int
    run: list[list[str]]
    changed: set[str]
    signalled: set[str]
    connected: set[str]


def watched(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> Watched:
    """Run a command to its end under strace; `folder` is for the logs, one a process."""
    traced = f"trace={','.join(f'?{one}' for one in sorted(CALLS))}"  # ?: where this machine has such a call
    done = subprocess.run(
        ["strace", "-ff", "-qq", "-y", "-s", "4096", "-e", traced, "-o", str(folder / "log"), *command],
        env=dict(environment),
        capture_output=True,
        check=False,
    )
    logs = {int(path.suffix[1:]): path.read_text("utf-8", "replace") for path in folder.glob("log.*")}
    calls = [call for log in logs.values() for call in _calls(log)]
    started = [_PROGRAM.search(said) for call, said, result in calls if call in STARTING and result == "0"]
    return Watched(
        done.returncode,
        [json.loads(f"[{one.group(1)}]") for one in started if one],
        {f"{call} {_path(said)}" for call, said, _ in calls if _changes(call, said)},
        {f"{call} {said}" for call, said, _ in calls if call in SIGNALLING and not _among(said, logs)},
        {said for call, said, _ in calls if call == "connect"},
    )


def _calls(log: str) -> Iterator[tuple[str, str, str]]:
    for line in log.splitlines():
        if not line.startswith(("---", "+++")):  # signals that came, and the end
            found = _CALL.match(line)
            assert found, f"strace says what is not understood: {line}"
            yield found.groups()  # type: ignore[misc]


def _changes(call: str, said: str) -> bool:
    return call in CHANGING or (call in OPENING and FOR_WRITING.search(said) is not None)


def _path(said: str) -> str:
    """Return the paths of a call: those named, else that of its first descriptor."""
    found = [named or opened for named, opened in _PATH.findall(said)]
    return " ".join(one for one in found if one)


def _among(said: str, processes: Mapping[int, str]) -> bool:
    """Tell whether a signal goes to a process that is watched itself, or only asks whether it is there."""
    target, _, rest = said.partition(", ")
    return rest.rpartition(", ")[2] == "0" or (target.isdigit() and int(target) in processes)
