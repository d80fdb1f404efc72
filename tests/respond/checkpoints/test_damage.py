"""Damage any stretch of any file: a checkpoint whose content changed is never called valid."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from evenpace.respond.checkpoints import newest_valid

# The folder is restored before each example.
PROPERTY = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
MEMBERS = {"a/data.pkl": bytes(range(200)), "a/byteorder": b"little", "a/data/0": b"\x01\x02" * 300}
damages = st.tuples(st.integers(0, 1 << 20), st.integers(1, 64), st.integers(1, 255), st.booleans())


def archive() -> bytes:
    """Return an archive as torch.save writes it: stored members with CRCs."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as file:
        for name, content in MEMBERS.items():
            file.writestr(name, content)
    return buffer.getvalue()


def members(content: bytes) -> dict[str, bytes] | None:
    """Return what a reader would get of an archive, None where it gets nothing."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            return {info.filename: file.read(info) for info in file.infolist()}
    except Exception:
        return None


def damage(content: bytes, how: tuple[int, int, int, bool]) -> bytes:
    """Flip bits of a stretch, or cut the rest off."""
    place, length, bits, cut = how
    place %= len(content)
    if cut:
        return content[:place]
    stretch = bytes(byte ^ bits for byte in content[place : place + length])
    return content[:place] + stretch + content[place + length :]


@PROPERTY
@given(how=damages)
@example(how=(957, 2, 1, False))  # the length of a name in the directory, which swallows two members
def test_a_damaged_torch_file_is_never_valid(tmp_path: Path, how: tuple[int, int, int, bool]) -> None:
    path = tmp_path / "model-100.pt"
    path.write_bytes(damage(archive(), how))
    found, _ = newest_valid(tmp_path)
    assert found is None or members(path.read_bytes()) == MEMBERS


def with_manifest(folder: Path) -> Path:
    path = folder / "step-00000100"
    (path / "sub").mkdir(parents=True)
    files = {"model.bin": b"\x00\x07" * 400, "sub/optim.bin": b"moments" * 50}
    for name, content in files.items():
        (path / name).write_bytes(content)
    listed = {name: {"bytes": len(c), "sha256": hashlib.sha256(c).hexdigest()} for name, c in files.items()}
    (path / "manifest.json").write_text(json.dumps({"step": 100, "files": listed}))
    return path


def files_of(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


@pytest.fixture
def manifest(tmp_path: Path) -> Callable[[], Path]:
    def fresh() -> Path:
        shutil.rmtree(tmp_path / "step-00000100", ignore_errors=True)
        return with_manifest(tmp_path)

    return fresh


@PROPERTY
@given(how=damages, name=st.sampled_from(["model.bin", "sub/optim.bin"]))
def test_a_damaged_file_of_a_manifest_is_never_valid(
    manifest: Callable[[], Path], how: tuple[int, int, int, bool], name: str
) -> None:
    path = manifest()
    (path / name).write_bytes(damage((path / name).read_bytes(), how))
    assert newest_valid(path.parent)[0] is None


@PROPERTY
@given(how=damages)
def test_a_damaged_manifest_is_never_valid_unless_it_says_the_same(
    manifest: Callable[[], Path], how: tuple[int, int, int, bool]
) -> None:
    path = manifest()
    before = json.loads((path / "manifest.json").read_bytes())
    (path / "manifest.json").write_bytes(damage((path / "manifest.json").read_bytes(), how))
    found, _ = newest_valid(path.parent)
    assert found is None or json.loads((path / "manifest.json").read_bytes()) == before


@pytest.mark.parametrize("name", ["model.bin", "sub/optim.bin", "manifest.json"])
def test_a_missing_file_is_never_valid(manifest: Callable[[], Path], name: str) -> None:
    path = manifest()
    assert newest_valid(path.parent)[0] is not None
    (path / name).unlink()
    assert newest_valid(path.parent)[0] is None
