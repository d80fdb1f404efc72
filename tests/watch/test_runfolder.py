from __future__ import annotations

from collections import namedtuple
from pathlib import Path

import psutil
import pytest

from evenpace.errors import Problem
from evenpace.watch import runfolder
from evenpace.watch.runfolder import RunFolder, default_folder, is_network_file_system, script_name

Part = namedtuple("Part", "mountpoint fstype")
Usage = namedtuple("Usage", "total used free")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["torchrun", "--nproc-per-node=2", "dir/train gpt.py", "other.py"], "train-gpt"),
        (["bash", "-c", "x"], "bash"),
        (["/usr/bin/..py"], "run"),
        (["../../.py"], "py"),
    ],
)
def test_a_run_is_named_after_its_script(command: list[str], name: str) -> None:
    assert script_name(command) == name


def test_the_default_folder_is_never_taken_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = []
    for _ in range(3):
        path = default_folder(["train.py"], 1_767_322_245.0)
        RunFolder.create(path)
        names.append(str(path))
    base = "evenpace-runs/20260102-025045-train"
    assert names == [base, f"{base}-2", f"{base}-3"]


def test_paths(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run")
    assert folder.logs(2, ["node0"]) == {"node0": tmp_path / "run/logs/2/node0.log"}
    assert folder.log(2, "node0").parent.is_dir()


def test_a_folder_that_cannot_be_written_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Problem, match="--run-dir"):
        RunFolder.create(tmp_path / "file/run")


def test_a_folder_with_a_run_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text("")
    with pytest.raises(Problem, match="already holds a run"):
        RunFolder.create(tmp_path)
    assert RunFolder.open(tmp_path).path == tmp_path


def test_opening_something_else_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(Problem, match=r"no events\.jsonl"):
        RunFolder.open(tmp_path / "missing")


@pytest.mark.parametrize(
    ("kind", "network"),
    [
        ("ext4", False),
        ("fuseblk", False),
        ("tmpfs", False),
        ("nfs4", True),
        ("lustre", True),
        ("fuse.sshfs", True),
    ],
)
def test_the_nearest_mount_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, network: bool
) -> None:
    other = "ext4" if network else "nfs"
    parts = [Part("/", other), Part(str(tmp_path), kind), Part(str(tmp_path / "other"), other)]
    monkeypatch.setattr(psutil, "disk_partitions", lambda **_: parts)
    assert is_network_file_system(tmp_path / "run") is network


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that stands in for /dev/shm, with room for the rings of 10 nodes."""
    shared = tmp_path / "shm"
    shared.mkdir()
    ten = 10 * runfolder.WORKERS_OF_A_NODE * runfolder.BYTES_OF_A_RING
    monkeypatch.setattr(runfolder, "SHARED_MEMORY", shared)
    monkeypatch.setattr("shutil.disk_usage", lambda path: Usage(4 * ten, ten, 3 * ten))
    return shared


def test_rings_are_in_memory_and_come_home_when_their_incarnation_has_ended(
    tmp_path: Path, memory: Path
) -> None:
    folder = RunFolder.create(tmp_path / "run")
    first, second = folder.rings(0, 10), folder.rings(1, 10)
    assert first.parent == second.parent
    assert first.parent.parent == memory
    assert first.parent.stat().st_mode & 0o777 == 0o700
    (first / "node0.7.ring").write_bytes(b"ring")
    assert (tmp_path / "run/rings/0/node0.7.ring").read_bytes() == b"ring"
    folder.keep_rings(first, running=1)
    assert not first.exists()
    assert second.is_dir()
    assert not (tmp_path / "run/rings/0").is_symlink()
    assert (tmp_path / "run/rings/0/node0.7.ring").read_bytes() == b"ring"
    RunFolder(tmp_path / "run").keep_rings(second)  # as when attaching
    assert list(memory.iterdir()) == []
    assert (tmp_path / "run/rings/1").is_dir()


def test_rings_stay_on_the_disk_where_memory_is_short(
    tmp_path: Path, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder.create(tmp_path / "run")
    assert folder.rings(0, 11) == tmp_path / "run/rings/0"
    folder.keep_rings(tmp_path / "run/rings/0")
    assert folder.rings(0, 11).is_dir()
    monkeypatch.setattr(runfolder, "is_network_file_system", lambda path: True)
    assert folder.rings(1, 11).parent.parent == memory


def test_rings_that_cannot_be_moved_free_their_memory(tmp_path: Path, memory: Path) -> None:
    folder = RunFolder.create(tmp_path / "run")
    (tmp_path / "run/rings").write_text("in the way")
    rings = folder.rings(0, 1)
    assert rings.is_dir()
    folder.keep_rings(rings)
    assert list(memory.iterdir()) == []


def test_nothing_but_our_own_folders_is_ever_moved(tmp_path: Path, memory: Path) -> None:
    theirs = memory / "theirs/0"
    theirs.mkdir(parents=True)
    folder = RunFolder.create(tmp_path / "run")
    folder.keep_rings(theirs)
    folder.keep_rings(tmp_path)
    assert theirs.is_dir()


def test_rings_that_cannot_be_made_stop_nothing(
    tmp_path: Path, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runfolder, "SHARED_MEMORY", tmp_path / "missing")
    folder = RunFolder.create(tmp_path / "run")
    (tmp_path / "run/rings").write_text("in the way")
    assert folder.rings(0, 1) == tmp_path / "run/rings/0"
