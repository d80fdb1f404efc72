from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

import pytest

from evenpace.checks import citing as module
from evenpace.checks.catalogue import BadCheck, checks
from evenpace.checks.citing import citing


@pytest.fixture
def forgetful() -> Iterator[None]:
    """Let the index be made anew, before and after."""
    module._index.cache_clear()
    yield
    module._index.cache_clear()


def test_the_way_back_is_the_way_there() -> None:
    there = {(check.id, one.id) for check in checks().values() for one in check.content.incident}
    back = {(check.id, id_) for _, id_ in there for check, _ in citing(id_)}
    assert there == back
    assert citing("IL-9999") == ()


@pytest.mark.usefixtures("forgetful")
def test_a_broken_check_does_not_hide_a_case(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> NoReturn:
        raise BadCheck("broken")

    monkeypatch.setattr(module, "checks", broken)
    assert citing("IL-0138") == ()
