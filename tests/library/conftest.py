from __future__ import annotations

import pytest

from evenpace.library.catalogue import Library


@pytest.fixture(scope="session")
def real() -> Library:
    """Return the library that comes with evenpace."""
    return Library.open()
