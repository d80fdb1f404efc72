"""What the tests of the answer's surfaces share."""

from __future__ import annotations

import pytest
from tests.report.answer.made import TRICKS


@pytest.fixture(params=TRICKS, ids=range(len(TRICKS)))
def trick(request: pytest.FixtureRequest) -> str:
    """Return text that somebody wrote into a log to reach whoever reads the answer."""
    return str(request.param)
