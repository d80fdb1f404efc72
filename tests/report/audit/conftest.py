"""What the tests of the audit's surfaces share."""

from __future__ import annotations

import pytest
from tests.report.answer.made import TRICKS


@pytest.fixture(params=TRICKS, ids=range(len(TRICKS)))
def trick(request: pytest.FixtureRequest) -> str:
    """Return text that a tenant of the cluster wrote to reach whoever reads the audit."""
    return str(request.param)
