from __future__ import annotations

import hashlib
import json
import os
import struct
import zipfile
from pathlib import Path

import pytest

from evenpace.respond.checkpoints import newest_valid, set_aside


def manifest(folder: Path, name: str, step: int, files: dict[str, dict[str, object]] | None = None) -> Path:
    path = folder / name
    path.mkdir(parents=True)
    (path / "w").write_bytes(b"weights")
    listed = files or {"w": {"bytes": 7, "sha256": hashlib.sha256(b"weights").hexdigest()}}
    (path / "manifest.json").write_text(json.dumps({"step": step, "files": listed}))
    return path


def torch_file(path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        file.writestr("a/data.pkl", b"x" * 50)
    return path


def test_the_newest_by_step_wins_and_older_ones_are_not_read(tmp_path: Path) -> None:
    manifest(tmp_path, "step-9", 9)
    newest = manifest(tmp_path, "step-10", 10)
    (tmp_path / "step-9" / "w").unlink()
    found, skipped = newest_valid(tmp_path)
    assert found is not None
    assert (found.path, found.step, skipped) == (newest, 10, [])


def test_damaged_ones_are_passed_over_newest_first(tmp_path: Path) -> None:
    good = manifest(tmp_path, "step-1", 1)
    for step in (2, 3):
        (manifest(tmp_path, f"step-{step}", step) / "w").write_bytes(b"damaged")
    found, skipped = newest_valid(tmp_path)
    assert found is not None
    assert found.path == good
    assert [one.path.name for one in skipped] == ["step-3", "step-2"]
    assert all(one.damaged for one in skipped)


def test_a_folder_without_its_manifest_is_half_written_where_others_have_one(tmp_path: Path) -> None:
    manifest(tmp_path, "step-1", 1)
    (tmp_path / "step-2").mkdir()
    (tmp_path / "tensorboard-7").mkdir()
    found, skipped = newest_valid(tmp_path)
    assert found is not None
    assert found.step == 1
    assert [one.path.name for one in skipped] == ["step-2"]


def test_without_steps_the_time_of_modification_decides(tmp_path: Path) -> None:
    for number, name in enumerate(("last.pt", "best.pt")):
        os.utime(torch_file(tmp_path / name), (number + 1, number + 1))
    found, _ = newest_valid(tmp_path)
    assert found is not None
    assert (found.path.name, found.step) == ("best.pt", None)


def test_files_of_one_step_stand_or_fall_together(tmp_path: Path) -> None:
    for step in (1, 2):
        for rank in (0, 1):
            torch_file(tmp_path / f"step{step}_rank{rank}.pt")
    (tmp_path / "step2_rank1.pt").write_bytes(b"")
    found, skipped = newest_valid(tmp_path)
    assert found is not None
    assert (found.path.name, found.step) == ("step1_rank0.pt", 1)
    assert sorted(one.path.name for one in skipped) == ["step2_rank0.pt", "step2_rank1.pt"]


@pytest.mark.parametrize(
    "name", [".step-5.tmp", "step-5.tmp", "step-5.partial", "tmp_step-5", "step-5.incomplete", "step-5.pt~"]
)
def test_temporary_names_are_no_checkpoints(tmp_path: Path, name: str) -> None:
    manifest(tmp_path, name, 5)
    assert newest_valid(tmp_path) == (None, [])


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = manifest(tmp_path, "outside-9", 9)
    folder = tmp_path / "ckpt"
    inside = manifest(folder, "step-3", 3)
    (folder / "step-9").symlink_to(outside)
    (folder / "latest").symlink_to(inside)
    found, _ = newest_valid(folder)
    assert found is not None
    assert found.path == inside


DIGEST = hashlib.sha256(b"weights").hexdigest()


@pytest.mark.parametrize("name", ["../w", "/etc/passwd", "a/../../w", "./w", "", "w\0", "x" * 5000])
def test_a_manifest_cannot_lead_outside(tmp_path: Path, name: str) -> None:
    (tmp_path / "w").write_bytes(b"weights")
    manifest(tmp_path, "step-1", 1, {name: {"bytes": 7, "sha256": DIGEST}})
    assert newest_valid(tmp_path)[0] is None


def test_a_link_or_pipe_inside_a_checkpoint_is_damage(tmp_path: Path) -> None:
    path = manifest(tmp_path, "step-1", 1)
    (path / "w").rename(tmp_path / "elsewhere")
    (path / "w").symlink_to(tmp_path / "elsewhere")
    assert newest_valid(tmp_path)[0] is None
    (path / "w").unlink()
    os.mkfifo(path / "w")
    assert newest_valid(tmp_path)[0] is None


def test_a_bomb_is_refused_without_unpacking_it(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb-1.pt", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a/data.pkl", bytes(50_000_000))
    found, (skipped,) = newest_valid(tmp_path)
    assert found is None
    assert "compressed" in skipped.reason


def test_a_directory_larger_than_its_file_is_refused(tmp_path: Path) -> None:
    path = torch_file(tmp_path / "m-1.pt")
    content = bytearray(path.read_bytes())
    struct.pack_into("<L", content, len(content) - 10, 0xFFFFFF00)
    path.write_bytes(content)
    assert newest_valid(tmp_path)[0] is None


def test_a_pickle_of_old_is_unproven_but_not_damaged(tmp_path: Path) -> None:
    (tmp_path / "model_1.pt").write_bytes(b"\x80\x02}.")
    found, (skipped,) = newest_valid(tmp_path)
    assert found is None
    assert not skipped.damaged


def test_the_folder_may_be_the_checkpoint_itself(tmp_path: Path) -> None:
    path = manifest(tmp_path, "current", 12)
    found, _ = newest_valid(path)
    assert found is not None
    assert (found.path, found.step) == (path, 12)


@pytest.mark.parametrize("name", ["missing", "file"])
def test_no_folder_has_no_checkpoints(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    assert newest_valid(tmp_path / name) == (None, [])


def test_set_aside_never_overwrites(tmp_path: Path) -> None:
    shelf = tmp_path / ".evenpace-set-aside"
    for expected in ("step-1", "step-1.2", "step-1.3"):
        assert set_aside(manifest(tmp_path, "step-1", 1), tmp_path) == shelf / expected
    assert set_aside(tmp_path, tmp_path) is None
    assert newest_valid(tmp_path) == (None, [])
