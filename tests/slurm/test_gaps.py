"""Each gap is made in a real Slurm and mended again, and its check fails and passes at the right moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.slurm.gaps import GAPS, Seeded
from tests.slurm.real import RealSlurm

from evenpace.checks.catalogue import Check, find
from evenpace.checks.running import Result, run
from evenpace.collect.slurm import live
from evenpace.findings import Outcome

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(300)]
CALM = {Outcome.PASS, Outcome.NOT_APPLICABLE}


def judged(check: Check, later: timedelta) -> Result:
    return run(check, live.read(check.kinds, now=lambda: datetime.now(UTC) + later))


@pytest.mark.parametrize(("id_", "seeded"), GAPS.items(), ids=list(GAPS))
def test_check_fails_while_the_gap_is_there_and_only_then(id_: str, seeded: Seeded, slurm: RealSlurm) -> None:
    check = find(id_)
    before = judged(check, seeded.later)
    with seeded.made(slurm):
        during = judged(check, seeded.later)
    after = judged(check, seeded.later)
    assert (before.outcome in CALM, before.error) == (True, "")
    assert (during.outcome, during.error) == (Outcome.FAIL, "")
    assert (after.outcome in CALM, after.error) == (True, "")
