from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evenpace.collect.slurm import live, scripts
from evenpace.collect.slurm.commands import NotRead
from evenpace.collect.snapshot import Snapshot, Unread, Why
from evenpace.errors import Problem

NOW = datetime(2026, 11, 30, tzinfo=UTC)


@pytest.fixture
def etc(tmp_path: Path) -> Path:
    (tmp_path / "slurm.conf").write_text("", "utf-8")
    (tmp_path / "prolog.sh").write_text("#!/bin/sh\nexit 0\n", "utf-8")
    (tmp_path / "prolog.d").mkdir()
    for name in ("20-b.sh", "10-a.sh"):
        (tmp_path / "prolog.d" / name).write_text(f"# {name}\n", "utf-8")
    return tmp_path


def read(etc: Path, *settings: str) -> Snapshot:
    text = "\n".join([f"SLURM_CONF = {etc}/slurm.conf", *settings])
    return live.read({"scripts", "gres.conf"}, lambda asked, limit: text.encode(), lambda: NOW)


def test_programs_are_read_by_their_setting(etc: Path) -> None:
    snapshot = read(etc, f"Prolog = {etc}/prolog.sh", "Epilog = (null)", "TaskProlog = prolog.sh")
    found = {(one.role, one.path): one.text for one in snapshot.kinds["scripts"]}
    path = str(etc / "prolog.sh")
    assert found == dict.fromkeys([("Prolog", path), ("TaskProlog", path)], "#!/bin/sh\nexit 0\n")


@pytest.mark.parametrize("setting", ["Prolog = {0}/prolog.d/*", "Prolog[0] = {0}/prolog.d/*"])
def test_patterns_stand_for_files(setting: str, etc: Path) -> None:
    snapshot = read(etc, setting.format(etc))
    assert [one.text for one in snapshot.kinds["scripts"]] == ["# 10-a.sh\n", "# 20-b.sh\n"]


def test_several_programs_are_read_each(etc: Path) -> None:
    snapshot = read(etc, f"Prolog[0] = {etc}/prolog.sh", f"Prolog[1] = {etc}/prolog.d/10-a.sh")
    assert [one.role for one in snapshot.kinds["scripts"]] == ["Prolog", "Prolog"]


def test_a_program_with_arguments_is_read(etc: Path) -> None:
    snapshot = read(etc, f"HealthCheckProgram = {etc}/prolog.sh --all")
    assert [one.role for one in snapshot.kinds["scripts"]] == ["HealthCheckProgram"]


def test_programs_that_are_not_on_this_host_are_unread_with_their_path(etc: Path) -> None:
    reason = read(etc, "Prolog = /nowhere/prolog.sh").reason("scripts")
    assert reason is not None
    assert (reason.why, reason.what) == (Why.FAILED, "Prolog /nowhere/prolog.sh")


def test_no_program_at_all_is_nothing_to_read_but_not_unread(etc: Path) -> None:
    assert read(etc, "Prolog = (null)").kinds["scripts"] == ()


def test_hostile_files_are_left_out(etc: Path) -> None:
    os.mkfifo(etc / "fifo")
    (etc / "program").write_bytes(b"\x7fELF\0")
    (etc / "huge").write_bytes(b"a" * (scripts.LARGEST + 1))
    names = [
        f"Prolog[{at}] = {etc}/{name}" for at, name in enumerate(["fifo", "program", "huge", "prolog.d"])
    ]
    reason = read(etc, *names).reason("scripts")
    assert reason is not None
    assert read(etc, *names, f"Epilog = {etc}/prolog.sh").kinds["scripts"][0].role == "Epilog"


def test_gres_conf_is_read_beside_slurm_conf(etc: Path) -> None:
    absent = read(etc).reason("gres.conf")
    assert absent is not None
    assert absent.why is Why.ABSENT
    (etc / "gres.conf").write_text("Name=gpu\n", "utf-8")
    assert read(etc).kinds["gres.conf"] == "Name=gpu\n"
    (etc / "gres.conf").unlink()
    (etc / "slurm.conf").unlink()
    missing = read(etc).reason("gres.conf")
    assert missing is not None
    assert missing.why is Why.MISSING


def test_without_settings_scripts_are_unread_for_the_same_reason() -> None:
    def ask(asked: str, limit: float) -> bytes:
        raise NotRead(Unread(Why.FORBIDDEN, asked, "denied"))

    snapshot = live.read({"scripts"}, ask, lambda: NOW)
    assert snapshot.unread["scripts"] == snapshot.unread["config"]


def test_batch_scripts_of_the_user_are_added(etc: Path) -> None:
    before = Snapshot("slurm", "", NOW, {}, {"scripts": Unread(Why.FORBIDDEN, "Prolog")})
    job = etc / "4711.sh"
    job.write_text("#!/bin/bash\nsrun train\n", "utf-8")
    after = scripts.with_jobs(before, [job])
    assert [(one.role, one.job) for one in after.kinds["scripts"]] == [("job", "4711")]
    assert after.reason("scripts") is None
    assert before.kinds == {}


def test_a_batch_script_that_cannot_be_read_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="cannot read"):
        scripts.with_jobs(Snapshot("slurm", "", NOW, {}), [tmp_path / "none.sh"])


@pytest.mark.parametrize("name", ["/etc/[**", "/etc/a**b", "/a\0b", "/" + "x" * 5000, "x" * 5000 + " y"])
def test_a_name_that_no_file_can_have_is_a_reason(etc: Path, name: str) -> None:
    assert read(etc, f"Prolog = {name}").reason("scripts") is not None


@pytest.mark.parametrize("place", ["/", "", ".."])
def test_a_place_of_slurm_conf_that_is_no_file_is_a_reason(place: str) -> None:
    text = f"SLURM_CONF = {place}\nClusterName = x"
    snapshot = live.read({"scripts", "gres.conf"}, lambda asked, limit: text.encode(), lambda: NOW)
    assert snapshot.reason("gres.conf") is not None
