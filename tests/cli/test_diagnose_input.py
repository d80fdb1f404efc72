"""Bad input to `evenpace diagnose`: one clear line and exit code 2, or skipped with a count; never a hang."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from evenpace.cli import cli, execute
from evenpace.diagnose import sources
from evenpace.diagnose.sources import Inputs, _Unpacked, find, open_log

CRASH = "[rank3]: Traceback (most recent call last):\n[rank3]: torch.OutOfMemoryError: CUDA out of memory.\n"


def run(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = execute(cli, ["diagnose", *words])
    said = capfd.readouterr()
    return code, said.out, said.err


def refused(capfd: pytest.CaptureFixture[str], *words: str) -> str:
    """Return the one line that says why nothing was diagnosed."""
    code, out, err = run(capfd, *words)
    assert (code, out) == (2, "")
    assert err.startswith("evenpace: ")
    assert err.count("\n") == 1
    return err


def written(path: Path, content: bytes | str = CRASH) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def dangling(path: Path) -> str:
    path.symlink_to(path.parent / "nothing")
    return str(path)


def loop(path: Path) -> str:
    path.symlink_to(path)
    return str(path)


def fifo(path: Path) -> str:
    os.mkfifo(path)
    return str(path)


def fifo_within(path: Path) -> str:
    path.mkdir()
    os.mkfifo(path / "a.log")
    return str(path)


BAD: dict[str, Callable[[Path], str]] = {
    "missing": str,
    "empty": lambda path: written(path, b""),
    "binary": lambda path: written(path, bytes(range(256)) * 50),
    "nothing but NULs": lambda path: written(path, b"\0" * 4096),
    "an archive": lambda path: written(path, b"PK\x03\x04" + bytes(200)),
    "an archive, compressed twice": lambda path: written(path, gzip.compress(gzip.compress(bytes(1 << 20)))),
    "a cut archive": lambda path: written(path, gzip.compress(os.urandom(5000))[:12]),
    "an empty folder": lambda path: path.mkdir() or str(path),  # type: ignore[func-returns-value]
    "a link to nothing": dangling,
    "a link to itself": loop,
    "a pipe": fifo,
    "a folder with a pipe": fifo_within,
    "a device without end": lambda _: "/dev/zero",
    "a device without content": lambda _: "/dev/null",
    "memory": lambda _: "/proc/self/mem",
    "no name": lambda _: "",
    "a long name": lambda _: "x" * 5000,
    "a pattern of nothing": lambda path: f"{path}/%x-%j-%N.out",
    "an open bracket": lambda path: f"{path}[",
}


@pytest.mark.parametrize("kind", BAD)
def test_one_clear_line(kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert len(refused(capfd, BAD[kind](tmp_path / "bad"))) < 6000


@pytest.mark.parametrize(
    "expect", ["nonsense", "", "9..1 tok/s", "..", "1..2 parsec", "9" * 99 + "..x", "nan..inf tok/s"]
)
def test_a_range_that_is_none(expect: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    if expect:
        assert "--expect" in refused(capfd, written(tmp_path / "a.log"), "--expect", expect)


def test_what_cannot_be_read_is_counted_beside_what_can(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path / "a.log")
    written(tmp_path / "empty.log", b"")
    written(tmp_path / "core.1", bytes(range(256)) * 50)
    fifo(tmp_path / "pipe.log")
    loop(tmp_path / "loop.log")
    (tmp_path / "again").symlink_to(tmp_path)
    code, out, _ = run(capfd, str(tmp_path), "--format", "json")
    assert code == 1
    text = json.dumps(json.loads(out))
    assert all(reason in text for reason in ("empty", "binary", "unreadable"))


@pytest.mark.parametrize("name", ["a.log", "folder"])
def test_a_log_is_not_overwritten(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = Path(written(tmp_path / "folder" / "a.log"))
    given = str(log if name == "a.log" else log.parent)
    os.link(log, tmp_path / "hard.log")
    (tmp_path / "soft.log").symlink_to(log)
    for output in (log, tmp_path / "hard.log", tmp_path / "soft.log", log.parent / ".." / "folder" / "a.log"):
        assert "choose another" in refused(capfd, given, "--output", str(output))
        assert log.read_text() == CRASH


def test_an_answer_that_cannot_be_written(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = written(tmp_path / "a.log")
    assert "cannot write" in refused(capfd, log, "--output", str(tmp_path / "no" / "x"))
    assert "cannot write" in refused(capfd, log, "--output", str(tmp_path))


@pytest.mark.parametrize("form", ["text", "json", "markdown", "sarif", "html"])
@pytest.mark.parametrize("name", ["a\n\x1b[31m\x07b.log", "b\udcff.log", "<script>.log", "`|`.log"])
def test_names_that_are_no_names(
    name: str, form: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / name
    log.write_text(CRASH)
    code, out, err = run(capfd, str(log), "--format", form)
    assert (code, err) == (1, "")
    assert "\x1b[31m" not in out
    assert "\x07" not in out


def test_names_that_are_no_names_in_a_complaint(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    refused(capfd, written(tmp_path / "a\nb.log", b""))
    refused(capfd, str(tmp_path / "b\udcff"))


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    refused(capfd, "-")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    refused(capfd, "-")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CRASH.encode())))
    assert run(capfd, "-", "-")[0] == 1


def test_a_file_that_vanishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.log", "b.log"):
        written(tmp_path / name)

    def found(paths: tuple[str, ...]) -> Inputs:
        inputs = find(paths)
        (tmp_path / "a.log").unlink()
        return inputs

    monkeypatch.setattr("evenpace.cli._diagnose.answering.find", found)
    assert run(capfd, str(tmp_path))[0] == 1
    refused(capfd, str(tmp_path / "a.log"))


def test_a_file_that_grows(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = Path(written(tmp_path / "a.log", CRASH * 20_000))
    done = threading.Event()

    def grow() -> None:
        with log.open("a") as file:
            while not done.is_set() and file.tell() < 64 << 20:
                file.write(CRASH)

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        assert run(capfd, str(log))[0] == 1
    finally:
        done.set()
        writer.join()


def test_a_line_without_end(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capfd, written(tmp_path / "a.log", b"step 3 loss 2.0 " * (4 << 16) + b"\n" + CRASH.encode())
    )
    assert code == 1
    assert len(out) < 20_000


def test_more_files_than_are_read_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sources, "MOST_FILES", 20)
    for at in range(50):
        written(tmp_path / f"r{at:03}.log")
    code, out, _ = run(capfd, str(tmp_path))
    assert code == 1
    assert "30" in out


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = Path(written(tmp_path / "a.gz", gzip.compress(b"a" * (16 << 20))))
    monkeypatch.setattr(sources, "FREE_RATIO", 1 << 20)
    monkeypatch.setattr(sources, "RATIO", 100)
    with open_log(bomb) as file:
        assert isinstance(file, _Unpacked)
        read = 0
        with pytest.raises(sources.Damaged, match="far more"):
            read = sum(iter(lambda: len(file.read(1 << 20)), 0))
        assert read == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is denied to root")
def test_what_may_not_be_read(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = Path(written(tmp_path / "deep" / "a.log"))
    log.chmod(0)
    refused(capfd, str(log))
    log.parent.chmod(0)
    try:
        refused(capfd, str(log.parent))
        refused(capfd, str(tmp_path))
    finally:
        log.parent.chmod(0o700)
