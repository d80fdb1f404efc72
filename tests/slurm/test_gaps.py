"""Each gap is made in a real Slurm and mended again, and its check fails and passes at the right moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.slurm.gaps import GAPS, Seeded
from tests.slurm.real import RealSlurm

from evenpace.checks.catalogue import Check, checks, find
from evenpace.checks.running import Result, run
from evenpace.collect.slurm import live
from evenpace.collect.slurm.scripts import with_jobs
from evenpace.findings import Outcome

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(300)]
# Not made in a real Slurm, but in fixtures only.
UNSEEDED = {
    "checkpoints_too_rare": "takes failures of hours in the accounting",
    "gres_differs_in_partition": "a node that registers with other GPUs than configured drains itself",
    "node_version_drift": "takes a slurmd of another version",
    "repeated_offender": "takes failures of hours in the accounting",
    "signal_before_limit_missing": "takes a script that Slurm does not give back",
}
CALM = {Outcome.PASS, Outcome.NOT_APPLICABLE}


def judged(check: Check, later: timedelta, scripts: tuple[Path, ...] = ()) -> Result:
    snapshot = live.read(check.kinds, now=lambda: datetime.now(UTC) + later)
    return run(check, with_jobs(snapshot, scripts) if scripts else snapshot)


def test_every_check_is_seeded_or_says_why_not() -> None:
    assert not set(GAPS) & set(UNSEEDED)
    assert set(GAPS) | set(UNSEEDED) == {one.id for one in checks().values() if one.family == "slurm"}


@pytest.mark.parametrize(("id_", "seeded"), GAPS.items(), ids=list(GAPS))
def test_check_fails_while_the_gap_is_there_and_only_then(
    id_: str, seeded: Seeded, slurm: RealSlurm, tmp_path: Path
) -> None:
    check = find(id_)
    before = judged(check, seeded.later)
    script = tmp_path / "train.sbatch"
    script.write_text(seeded.script, "utf-8")
    with seeded.made(slurm):
        during = judged(check, seeded.later, (script,) if seeded.script else ())
    after = judged(check, seeded.later)
    assert (before.outcome in CALM, before.error) == (True, "")
    assert (during.outcome, during.error) == (Outcome.FAIL, "")
    assert (after.outcome in CALM, after.error) == (True, "")
