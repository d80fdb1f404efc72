from __future__ import annotations

import pytest
from tests.serve.client import Client

from evenpace.library.catalogue import Library
from evenpace.serve.app import create_app


@pytest.fixture(scope="session")
def real() -> Library:
    """Return the library that comes with evenpace."""
    return Library.open()


@pytest.fixture(scope="session")
def site(real: Library) -> Client:
    """Return a client of the site of the real library."""
    return Client(create_app(real))
