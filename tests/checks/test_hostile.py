"""No check of Kubernetes breaks on objects whose fields are missing, null or of another type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import cycle
from typing import Any

import pytest

from evenpace.checks.catalogue import Check, checks
from evenpace.checks.running import run
from evenpace.checks.telling import finding, reason
from evenpace.collect.saved import read
from evenpace.collect.snapshot import Snapshot
from evenpace.findings import Outcome
from evenpace.terms import LANGUAGES

KUBERNETES = [one for one in checks().values() if one.family == "kubernetes"]
ODD = (None, -1.5, "", [], {"a": None}, True, [None], "x" * 5000, 10**400, float("nan"), [[]])
Path = tuple[str | int, ...]


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of each value within nested tables and lists."""
    pairs = value.items() if isinstance(value, Mapping) else enumerate(value) if _listed(value) else ()
    for key, inner in pairs:
        yield (*path, key)
        yield from places(inner, (*path, key))


def replaced(value: Any, path: Path, odd: object) -> Any:
    """Return a copy of `value` with `odd` at `path`."""
    if not path:
        return odd
    if isinstance(value, Mapping):
        return {key: replaced(one, path[1:], odd) if key == path[0] else one for key, one in value.items()}
    return [replaced(one, path[1:], odd) if place == path[0] else one for place, one in enumerate(value)]


def _listed(value: Any) -> bool:
    return isinstance(value, list | tuple)


@pytest.mark.parametrize("check", KUBERNETES, ids=lambda check: check.id)
def test_odd_fields_give_an_outcome(check: Check) -> None:
    fixture = next(iter(sorted((check.folder / "fixtures").glob("fail*"))))
    whole = read(fixture)
    for path, odd in zip(places(whole.kinds), cycle(ODD), strict=False):
        kinds = replaced(whole.kinds, path, odd)
        result = run(check, Snapshot(whole.family, "", whole.taken, kinds, whole.unread, whole.version))
        assert (result.outcome is Outcome.ERROR, result.error) == (False, ""), (path, odd)
        for lang in LANGUAGES:
            reason(result, lang)
            assert all(finding(check, gap, lang).summary for gap in result.gaps)
