"""torch.distributed.checkpoint, as real torch writes it (one process, no process group)."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evenpace.respond.checkpoints import newest_valid
from evenpace.respond.checkpoints.formats import dcp

SAVE = """
import sys, warnings
warnings.simplefilter("ignore")
import torch
import torch.distributed.checkpoint as dcp
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(1, 8)).sum().backward()
optimizer.step()
dcp.save({"model": model.state_dict(), "optim": optimizer.state_dict(), "step": 7}, checkpoint_id=sys.argv[1])
torch.save(model.state_dict(), sys.argv[2])
"""
DATA = "__0_0.distcp"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with `step_7` (DCP) and `files/model_7.pt` (torch.save)."""
    folder = tmp_path_factory.mktemp("torch")
    (folder / "files").mkdir()
    targets = [str(folder / "step_7"), str(folder / "files/model_7.pt")]
    subprocess.run([sys.executable, "-c", SAVE, *targets], check=True, timeout=110)
    return folder


def copied(saved: Path, tmp_path: Path) -> Path:
    target = tmp_path / "ckpt/step_7"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(saved / "step_7", target)
    return target


@pytest.mark.torch
def test_what_torch_writes_is_valid(saved: Path) -> None:
    for folder, name in ((saved, "step_7"), (saved / "files", "model_7.pt")):
        found, skipped = newest_valid(folder)
        assert skipped == []
        assert found is not None
        assert (found.path, found.step) == (folder / name, 7)


@pytest.mark.torch
def test_all_stored_items_are_known(saved: Path) -> None:
    items = sorted(dcp.stored(saved / "step_7")[DATA])
    assert len(items) == 21
    assert sum(length for _, length in items) == (saved / "step_7" / DATA).stat().st_size


@pytest.mark.torch
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(item=st.integers(0, 20), place=st.integers(0, 4000), bits=st.integers(1, 255))
def test_damaged_tensors_are_never_valid(
    saved: Path, tmp_path: Path, item: int, place: int, bits: int
) -> None:
    path = copied(saved, tmp_path)
    content = bytearray((path / DATA).read_bytes())
    offset, length = sorted(dcp.stored(path)[DATA])[item]
    before = bytes(content[offset : offset + length])
    content[offset + place % length] ^= bits
    (path / DATA).write_bytes(content)
    found, _ = newest_valid(path.parent)
    assert found is None or members(bytes(content[offset : offset + length])) == members(before)


def members(content: bytes) -> dict[str, bytes]:
    import io
    import zipfile

    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return {info.filename: file.read(info) for info in file.infolist()}


@pytest.mark.torch
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from([DATA, ".metadata"]), share=st.floats(0, 0.9999))
def test_cut_files_are_never_valid(saved: Path, tmp_path: Path, name: str, share: float) -> None:
    path = copied(saved, tmp_path)
    os.truncate(path / name, int((path / name).stat().st_size * share))
    assert newest_valid(path.parent)[0] is None


@pytest.mark.torch
def test_without_metadata_it_is_half_written(saved: Path, tmp_path: Path) -> None:
    path = copied(saved, tmp_path)
    (path / ".metadata").unlink()
    found, (skipped,) = newest_valid(path.parent)
    assert found is None
    assert "not written completely" in skipped.reason


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch executed",)


def test_a_hostile_pickle_is_not_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "step_1"
    path.mkdir()
    (path / ".metadata").write_bytes(pickle.dumps(Evil()))
    assert newest_valid(tmp_path)[0] is None
    assert not (tmp_path / "executed").exists()


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200))
def test_any_metadata_is_answered(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "step_1"
    path.mkdir(exist_ok=True)
    (path / ".metadata").write_bytes(content)
    assert newest_valid(tmp_path)[0] is None
