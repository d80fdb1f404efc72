from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from evenpace.checks import catalogue
from evenpace.checks.catalogue import BadCheck, checks
from evenpace.checks.running import run
from evenpace.collect.saved import read
from evenpace.findings import Outcome


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Install a package `foreign_checks` beside evenpace; its check is a copy of one of ours."""
    ours = checks()["health_check_program_missing"].folder
    place = tmp_path / "foreign_checks" / "slurm" / "made_elsewhere"
    shutil.copytree(ours, place)
    for folder in (tmp_path / "foreign_checks", place.parent):
        (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    point = EntryPoint("foreign", "foreign_checks", catalogue.GROUP)
    monkeypatch.setattr(catalogue, "entry_points", lambda group: [point])
    checks.cache_clear()
    yield place
    checks.cache_clear()
    for name in [name for name in sys.modules if name.startswith("foreign_checks")]:
        del sys.modules[name]


def test_a_check_of_another_package_is_found_and_run(foreign: Path) -> None:
    check = checks()["made_elsewhere"]
    assert run(check, read(foreign / "fixtures" / "fail.yaml")).outcome is Outcome.FAIL


def test_a_package_that_is_not_there_is_named(foreign: Path) -> None:
    shutil.rmtree(foreign.parent.parent)
    with pytest.raises(BadCheck, match="foreign_checks"):
        checks()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('severity = "critical"', 'severity = "dire"', "dire"),
        ("fault =", "falt =", "falt"),
        ("[[", "[[[", ""),
    ],
)
def test_what_is_wrong_with_a_check_is_said(foreign: Path, old: str, new: str, says: str) -> None:
    path = foreign / "check.toml"
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
    with pytest.raises(BadCheck, match="made_elsewhere") as caught:
        checks()
    assert says in str(caught.value)


def test_an_id_is_used_once(foreign: Path) -> None:
    foreign.rename(foreign.with_name("health_check_program_missing"))
    with pytest.raises(BadCheck, match="another check"):
        checks()
