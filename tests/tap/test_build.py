from __future__ import annotations

import platform
import shutil
from pathlib import Path

import pytest

from evenpace.tap import build
from evenpace.tap.environment import INJECT, environment

on_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="the native part is for x86-64")


@on_x86
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_it_is_compiled_once_into_a_private_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = build.native(tmp_path / "cache")
    assert first.path is not None
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert build.native(tmp_path / "cache") == first
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [first.path.name]


@on_x86
def test_no_compiler_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert build.native(tmp_path) == (None, "there is no C compiler (cc, gcc or clang)")


@on_x86
def test_a_compiler_that_fails_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/false")
    assert build.native(tmp_path) == (None, "/bin/false failed: exit code 1")
    assert not list(tmp_path.iterdir())


@on_x86
def test_a_folder_that_others_can_write_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    assert "can be written by others" in build.native(tmp_path / "open").why_not
    (tmp_path / "file").write_text("")
    assert build.native(tmp_path / "file" / "below").path is None


def test_another_architecture_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert build.native(tmp_path) == (None, "it is for x86-64 Linux, and this is aarch64 Linux")


def test_the_environment_keeps_what_the_user_has_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "native", lambda: build.Native(Path("/cache/tap.so")))
    base = {"PYTHONPATH": "/a::/b", "LD_PRELOAD": "/c.so", "HOME": "/home"}
    env, note = environment(tmp_path, "node7", "run1", 2, base)
    assert note == "native tap"
    assert env["PYTHONPATH"] == f"{INJECT}:/a::/b"
    assert env["LD_PRELOAD"] == "/cache/tap.so:/c.so"
    assert (env["EVENPACE_NODE"], env["EVENPACE_RUN"], env["EVENPACE_INCARNATION"]) == ("node7", "run1", "2")
    assert (env["EVENPACE_TAP"], env["EVENPACE_RING_DIR"]) == ("native", str(tmp_path))
    assert environment(tmp_path, "node7", "run1", 2, env).env == env


def test_the_environment_says_why_there_is_no_native_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "native", lambda: build.Native(None, "no compiler"))
    env, note = environment(tmp_path, "node", "run", 0, {})
    assert note == "Python tap (native part: no compiler)"
    assert env["EVENPACE_TAP"] == "python"
    assert "LD_PRELOAD" not in env
    assert environment(tmp_path, "node", "run", 0, {"A": "b"}, "off").env == {"A": "b", "EVENPACE_TAP": "off"}
