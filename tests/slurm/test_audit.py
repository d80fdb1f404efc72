"""The whole audit on a real Slurm: no false alarm, the same from a dump, only printing commands executed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.slurm.real import NODES, RealSlurm
from tests.slurm.watched import watched

from evenpace.collect.slurm import dump, live
from evenpace.collect.slurm.commands import COMMANDS
from evenpace.collect.slurm.model import TYPES

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(300)]
EVENPACE = (sys.executable, "-m", "evenpace")


def audited(slurm: RealSlurm, *options: str) -> dict[str, Any]:
    done = subprocess.run(
        [*EVENPACE, "audit", "--format", "json", "--fail-on", "never", *options],
        env=slurm.environment | {"KUBECONFIG": str(slurm.folder / "none")},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def outcomes(found: dict[str, Any]) -> dict[str, str]:
    return {one["id"]: one["outcome"] for one in found["checks"]}


def test_a_careful_cluster_has_no_gap_and_everything_of_it_was_read(slurm: RealSlurm) -> None:
    found = outcomes(audited(slurm))
    assert {
        check: outcome for check, outcome in found.items() if outcome not in {"pass", "not-applicable"}
    } == {}
    assert "pass" in found.values()


def test_all_kinds_are_read_live(slurm: RealSlurm) -> None:
    snapshot = live.read(TYPES)
    assert dict(snapshot.unread) == {}
    assert set(snapshot.kinds) == set(TYPES)
    assert len(snapshot.kinds["nodes"]) == NODES
    assert snapshot.version
    assert "gpu" in snapshot.kinds["gres.conf"]
    assert "SwitchName=top" in snapshot.kinds["topology"]
    assert {one.role for one in snapshot.kinds["scripts"]} >= {"Prolog", "Epilog", "HealthCheckProgram"}


def test_a_dump_of_the_same_moment_gives_the_same_facts(slurm: RealSlurm, tmp_path: Path) -> None:
    slurm.run("scontrol", "update", "nodename=gpu2", "state=drain", "reason=xid 79 seen: a=b (see #12)")
    try:
        seen = live.read(TYPES)
        for asked, command in COMMANDS.items():
            if asked in TYPES:
                kind = "json" if "--json" in command else "txt"
                words = [word for word in command if not word.startswith("-")]
                text = slurm.run("env", "TZ=UTC", *command, check=False)
                (tmp_path / f"{'_'.join(words)}.{kind}").write_text(text, "utf-8")
    finally:
        slurm.run("scontrol", "update", "nodename=gpu2", "state=resume")
    dumped = dump.read(tmp_path)
    assert dumped is not None
    assert abs((dumped.taken - seen.taken).total_seconds()) < 120
    assert dumped.version == seen.version
    kinds = {"partitions", "reservations", "topology"} | ({"accounting"} & set(dumped.kinds))
    assert {kind: dumped.kinds[kind] for kind in kinds} == {kind: seen.kinds[kind] for kind in kinds}
    node = next(one for one in dumped.kinds["nodes"] if one.name == "gpu2")
    assert (node.reason, "DRAIN" in node.states) == ("xid 79 seen: a=b (see #12)", True)


# What the audit and Slurm's commands open for writing, each with its reason.
OPENED = (
    r"openat /dev/null",  # what a command reads from, and where Slurm's own log goes
)
# Whom they talk to: munge, the controller and the database on this machine; nobody else.
ADDRESSES = re.compile(
    r'sun_path="[^"]*/munge\.sock"|sun_path="/var/run/nscd/socket"|inet_addr\("127\.0\.0\.[12]"\)'
)


@pytest.mark.skipif(not (shutil.which("strace") or os.environ.get("CI")), reason="strace is not installed")
def test_the_kernel_sees_reading_commands_and_nothing_else(slurm: RealSlurm, tmp_path: Path) -> None:
    """Of the audit and all its children: programs, files opened for writing, changes, signals, sockets."""
    environment = slurm.environment | {
        "KUBECONFIG": str(slurm.folder / "none"),
        "PYTHONDONTWRITEBYTECODE": "1",  # python's own, which an installation has already
    }
    seen = watched([*EVENPACE, "audit"], environment, tmp_path)
    (own,) = [one for one in seen.run if "evenpace" in one]
    assert (seen.returned, own[1:]) == (0, ["-m", "evenpace", "audit"])
    asked = {tuple(one) for one in seen.run if one is not own}
    assert asked <= set(COMMANDS.values())
    assert {COMMANDS[kind] for kind in ("config", "nodes", "jobs", "accounting")} <= asked
    assert [one for one in seen.changed if not any(re.fullmatch(known, one) for known in OPENED)] == []
    assert seen.signalled == set()
    assert [one for one in seen.connected if not ADDRESSES.search(one)] == []


def test_the_audit_changes_nothing_in_the_cluster(slurm: RealSlurm) -> None:
    kinds = ("config", "nodes", "partitions", "reservations", "jobs", "accounting")
    volatile = re.compile(r"(CPULoad|FreeMem|LastBusyTime|as of|NEXT_JOB_ID)\S*\s*\S*")

    def state() -> list[str]:
        return [volatile.sub("", slurm.run(*COMMANDS[kind], check=False)) for kind in kinds if kind != "jobs"]

    before = state()
    audited(slurm)
    assert state() == before


def test_a_controller_that_is_gone_is_said_once_and_soon(slurm: RealSlurm) -> None:
    slurm.end("slurmctld")
    try:
        found = audited(slurm)
    finally:
        slurm.start_controller()
        slurm.until(lambda: slurm.idle() == NODES)
    assert set(outcomes(found).values()) <= {"no-data"}
    assert "scontrol show config" in json.dumps(found)


def test_what_a_user_may_not_see_is_named(slurm: RealSlurm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Accounting that is switched off is nothing to read, which is not the same as a failure."""
    slurm.set({"AccountingStorageType": None, "AccountingStorageTRES": None}, restart=True)
    try:
        snapshot = live.read({"accounting"})
    finally:
        slurm.set({}, restart=True)
    reason = snapshot.reason("accounting")
    assert reason is not None
    assert (reason.why.value, "AccountingStorageType" in reason.what) == ("absent", True)
