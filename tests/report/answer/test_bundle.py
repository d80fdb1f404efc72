"""A bundle holds redacted logs and answer, private, all or nothing, and touches nothing else."""

# ruff: noqa: E501, PT018  the lines of logs are as long as they are

from __future__ import annotations

import gzip
import json
import stat
from pathlib import Path

import pytest

from evenpace.diagnose.reading import read
from evenpace.diagnose.sources import Inputs
from evenpace.errors import Problem
from evenpace.report.answer import answer_of, bundle
from evenpace.report.answer.bundle import check_folder, write_bundle

LOG = (
    "Mar 14 06:20:33 acme-gpu07 kernel: [  164.017760] NVRM: Xid (PCI:0000:3e:00): 79, pid=77, GPU has fallen off the bus.\n"
    "jdoe@acme-gpu07:~$ cat /home/jdoe/secretproject/x.py HF_TOKEN=hf_abcdefghijklmnop1234 10.11.12.13\n"
)
NAMES = (b"acme", b"jdoe", b"secretproject", b"hf_abc", b"10.11.12")


def write(folder: Path, *logs: Path) -> None:
    inputs = Inputs(list(logs))
    write_bundle(folder, answer_of(read(inputs, jobs=1), inputs, "en"), inputs.files)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "jdoe-acme-gpu07.log"
    path.write_text(LOG, "utf-8")
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_no_name_is_left_in_any_file(log: Path, tmp_path: Path) -> None:
    write(tmp_path / "out", log)
    files = contents(tmp_path / "out")
    assert set(files) == {"log-001.log", "answer.json", "answer.md", "MANIFEST.txt"}
    assert [(name, word) for name, data in files.items() for word in NAMES if word in data] == []
    answer = json.loads(files["answer.json"])
    assert answer["findings"][0]["subject"]["gpu"] == "0000:3e:00"
    assert answer["findings"][0]["subject"]["node"] == "anon-host001"
    assert answer["findings"][0]["evidence"][0]["source"] == answer["read"]["files"][0] == "log-001.log"
    assert b"anon-host001 kernel: " in files["log-001.log"]
    assert b"hosts: " in files["MANIFEST.txt"] and b"secrets: 1 times" in files["MANIFEST.txt"]


def test_the_same_name_is_the_same_in_every_file(log: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.log"
    other.write_text("connection to acme-gpu07 lost, says jdoe\n", "utf-8")
    write(tmp_path / "out", other, log)
    assert contents(tmp_path / "out")["log-001.log"] == b"connection to anon-host001 lost, says anon-user1\n"


def test_compressed_logs_come_out_plain_and_ranks_stay_in_names(tmp_path: Path) -> None:
    path = tmp_path / "rank3.log.gz"
    path.write_bytes(gzip.compress(LOG.encode()))
    write(tmp_path / "out", path)
    assert contents(tmp_path / "out")["log-001-rank3.log"].count(b"\n") == 2


def test_a_name_of_a_file_that_is_a_host_stays_one(tmp_path: Path) -> None:
    path = tmp_path / "dmesg-acme-gpu07.txt"
    path.write_text("[  164.01] NVRM: Xid (PCI:0000:3e:00): 79, GPU has fallen off the bus.\n", "utf-8")
    write(tmp_path / "out", path)
    assert "log-001/anon-host001.log" in contents(tmp_path / "out")


def test_utf_16_comes_out_as_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(LOG.encode("utf-16"))
    write(tmp_path / "out", path)
    assert b"anon-host001 kernel" in contents(tmp_path / "out")["log-001.log"]


def test_everything_is_private(log: Path, tmp_path: Path) -> None:
    write(tmp_path / "out", log)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "out").iterdir()} == {0o600}


def test_an_empty_folder_is_filled(log: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    write(tmp_path / "out", log)
    assert (tmp_path / "out" / "answer.md").is_file()


@pytest.mark.parametrize("kind", ["full", "file", "link", "orphan", "here"])
def test_where_no_bundle_can_be_nothing_is_written(
    kind: str, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    if kind == "full":
        target.mkdir()
        (target / "mine").write_text("x")
    elif kind == "file":
        target.write_text("x")
    elif kind == "link":
        target.symlink_to(elsewhere)
    elif kind == "orphan":
        target = tmp_path / "no" / "out"
    else:
        monkeypatch.chdir(elsewhere)
        target = Path()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(Problem) as problem:
        write(target, log)
    assert "\n" not in str(problem.value)
    assert sorted(tmp_path.rglob("*")) == before


def test_standard_input_cannot_be_read_twice(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="save them to a file"):
        check_folder(tmp_path / "out", [Path("-")])


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_a_run_that_fails_leaves_nothing(
    error: type[BaseException], log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> str:
        raise error

    monkeypatch.setattr(bundle, "to_markdown", fail)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises((KeyboardInterrupt, Problem)):
        write(tmp_path / "out", log)
    assert sorted(tmp_path.rglob("*")) == before


def test_long_lines_and_blocks_are_cut_without_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "BLOCK", 64)
    monkeypatch.setattr(bundle, "LONGEST", 200)
    path = tmp_path / "x.log"
    path.write_text("word " * 300 + "\n" + LOG * 3, "utf-8")
    write(tmp_path / "out", path)
    data = contents(tmp_path / "out")["log-001.log"]
    assert data.count(b"word ") == 300 and data.count(b"\n") == 7
    assert [word for word in NAMES if word in data] == []
