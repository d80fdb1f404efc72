from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evenpace.checks.catalogue import chosen
from evenpace.collect.slurm import live
from evenpace.collect.snapshot import Snapshot
from evenpace.errors import Problem
from evenpace.mcp.reach import Reach


def test_only_what_the_server_was_started_with_is_read_over_http(tmp_path: Path) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other.log"
    mine.mkdir()
    (mine / "a.log").write_text("a\n", "utf-8")
    other.write_text("b\n", "utf-8")
    (mine / "link.log").symlink_to(other)
    reach = Reach(paths=(mine,))
    assert reach.logs([]).files == [mine / "a.log"]
    assert reach.logs([str(mine / "a.log")]).files == [mine / "a.log"]
    for path in (other, mine / "link.log", mine / ".." / "other.log"):
        with pytest.raises(Problem, match="started with only"):
            reach.logs([str(path)])
        with pytest.raises(Problem, match="started with only"):
            reach.snapshots(str(path), "", ())


def test_the_users_own_agent_may_name_files(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("a\n", "utf-8")
    (tmp_path / "environ.log").symlink_to("/proc/self/environ")
    reach = Reach(callers_name=True)
    assert reach.logs([str(tmp_path)]).files == [tmp_path / "a.log"]
    for path in ("-", "/dev/stdin", "/proc/self/environ", str(tmp_path / "environ.log"), ""):
        with pytest.raises(Problem):
            reach.logs([path])


def test_slurm_is_read_where_the_server_was_started_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Collection[str]] = []

    def read(kinds: Collection[str]) -> Snapshot:
        asked.append(kinds)
        return Snapshot("slurm", "cluster it", datetime.now(UTC), {})

    monkeypatch.setattr(live, "read", read)
    monkeypatch.setattr(live, "available", lambda: True)
    (snapshot,) = Reach(slurm=True).snapshots("", "", chosen(["health_check_program_missing"]))
    assert snapshot.source == "cluster it"
    assert asked == [{"config"}]
    with pytest.raises(Problem, match="name what to audit"):
        Reach(callers_name=True).snapshots("", "", ())
    monkeypatch.setattr(live, "available", lambda: False)
    with pytest.raises(Problem, match="not installed"):
        Reach(slurm=True).snapshots("", "", ())
