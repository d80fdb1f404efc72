"""Ask Slurm: the one door to its commands. Each is written out below, only prints, and is run as it stands.

No shell, no argument from outside, an environment of a few names, limits of time and of size.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping

from evenpace.collect import pipes
from evenpace.collect.snapshot import Unread, Why

_COLUMNS = "JobIDRaw,User,Partition,State,NodeList,NNodes,AllocTRES,Start,End,TimelimitRaw,ExitCode"
_ACCOUNTED = ("sacct", "--allusers", "--allocations", "--duplicates", "--parsable2", "--starttime=now-30days")
# What is asked for → the command. All of these print and change nothing, whoever runs them.
COMMANDS: dict[str, tuple[str, ...]] = {
    "config": ("scontrol", "show", "config"),
    "nodes": ("scontrol", "--all", "--details", "--oneliner", "show", "node"),
    "partitions": ("scontrol", "--all", "--oneliner", "show", "partition"),
    "reservations": ("scontrol", "--all", "--oneliner", "show", "reservation"),
    "topology": ("scontrol", "show", "topology"),
    "jobs": ("squeue", "--all", "--json"),
    "jobs as text": ("scontrol", "--all", "--oneliner", "show", "job"),
    "accounting": (*_ACCOUNTED, f"--format={_COLUMNS},FailedNode"),
    "administrators": ("sacctmgr", "--noheader", "--parsable2", "show", "user", "format=User,AdminLevel"),
    "accounting without FailedNode": (*_ACCOUNTED, f"--format={_COLUMNS}"),
}
LARGEST = 1 << 28  # bytes of an answer
_LONGEST = 200  # characters of an error that are told
# Times are printed in UTC and words in English; of the user's own environment these alone go on.
_SET = {"TZ": "UTC", "LC_ALL": "C"}
_KEPT = ("PATH", "HOME", "LD_LIBRARY_PATH", "SLURM_CONF", "SLURM_JWT")
_FORBIDDEN = ("permission denied", "access denied", "not authorized", "invalid user")
_ABSENT = (
    "accounting storage is disabled",
    "no topology information",
    "could not establish a configuration source",  # the commands are installed, Slurm is not here
)


class NotRead(Exception):
    """Say why a command gave no answer."""

    def __init__(self, reason: Unread) -> None:
        super().__init__(reason.detail)
        self.reason = reason


def run(
    asked: str,
    limit: float,
    largest: int = LARGEST,
    environment: Mapping[str, str] = os.environ,
    clock: Callable[[], float] = time.monotonic,
) -> bytes:
    """Return what a command of COMMANDS prints; `limit` in seconds. Raises NotRead."""
    command = COMMANDS[asked]
    kept = {name: environment[name] for name in _KEPT if name in environment}
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=kept | _SET,
            start_new_session=True,
        )
    except OSError as error:
        why = Why.FORBIDDEN if isinstance(error, PermissionError) else Why.FAILED
        raise NotRead(Unread(why, " ".join(command), error.strerror or str(error))) from error
    with process:
        try:
            output, errors = pipes.both(process.stdout, process.stderr, clock() + limit, largest, clock)
            code = process.wait(max(0.0, limit))
        except (pipes.Late, subprocess.TimeoutExpired):
            raise NotRead(Unread(Why.TIMEOUT, " ".join(command), f"longer than {limit:g} s")) from None
        except pipes.TooLarge:
            raise NotRead(
                Unread(Why.TOO_LARGE, " ".join(command), f"more than {largest >> 20} MiB")
            ) from None
        finally:
            process.kill()  # our own child, and at its end nothing
    told = pipes.said(errors)
    if code != 0 or (told and not output.strip()):
        detail = told[-_LONGEST:] or f"exit code {code}"  # what came last is what it ended with
        raise NotRead(Unread(_why(told), " ".join(command), detail))
    return output


def _why(told: str) -> Why:
    folded = told.casefold()
    if any(sign in folded for sign in _ABSENT):
        return Why.ABSENT
    return Why.FORBIDDEN if any(sign in folded for sign in _FORBIDDEN) else Why.FAILED
