from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from evenpace.diagnose import sources
from evenpace.diagnose.reading import read
from evenpace.diagnose.sources import Inputs, find
from evenpace.errors import Problem


def names(inputs: Inputs) -> list[str]:
    return [path.name for path in inputs.files]


def test_a_folder_gives_its_logs_and_not_its_weights(tmp_path: Path) -> None:
    for name in ("b.log", "a.err", "model.safetensors", ".hidden", "deep/c.out"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x\n")
    assert names(find([str(tmp_path)])) == ["a.err", "b.log", "c.out"]


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("x\n")
    (tmp_path / "link.log").symlink_to(tmp_path / "a.log")
    assert names(find([str(tmp_path / "a.log"), str(tmp_path)])) == ["a.log"]


def test_slurm_output_pattern_finds_every_node(tmp_path: Path) -> None:
    for node in ("node1", "node2"):
        (tmp_path / f"train-77-{node}.out").write_text("x\n")
    (tmp_path / "other.txt").write_text("x\n")
    found = find([str(tmp_path / "%x-%j-%N.out")])
    assert names(found) == ["train-77-node1.out", "train-77-node2.out"]


def test_the_folder_of_a_run_gives_the_logs_of_its_nodes(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text("{}\n")
    (tmp_path / "logs" / "0").mkdir(parents=True)
    (tmp_path / "logs" / "0" / "node1.log").write_text("x\n")
    assert names(find([str(tmp_path)])) == ["node1.log"]


@pytest.mark.parametrize("given", ["missing.log", "*.nothing", "%j.out"])
def test_what_is_not_there_is_a_problem(given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Problem, match=given.replace("*", r"\*")):
        find([given])


def test_an_empty_folder_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="no log in"):
        find([str(tmp_path)])


def test_more_files_than_are_read_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MOST_FILES", 2)
    for number in range(5):
        (tmp_path / f"{number}.log").write_text("x\n")
    found = find([str(tmp_path)])
    assert names(found) == ["0.log", "1.log"]
    assert len(found.skipped["too-many"]) == 3


@pytest.mark.parametrize("packed", ["gz", "zst"])
def test_compressed_logs_are_unpacked_as_they_are_read(packed: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.log.{packed}"
    path.write_bytes(pack(b"Segmentation fault (core dumped)\n" * 3, packed))
    case = read(find([str(path)]), jobs=1)
    assert [line.text for line in case.lines] == ["Segmentation fault (core dumped)"] * 3


def pack(data: bytes, how: str) -> bytes:
    if how == "gz":
        return gzip.compress(data)
    from backports import zstd

    return zstd.compress(data)


@pytest.mark.parametrize("packed", ["gz", "zst"])
def test_a_cut_archive_is_read_as_far_as_it_goes(packed: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.log.{packed}"
    whole = pack("".join(f"line {number} {number * 7919}\n" for number in range(200_000)).encode(), packed)
    path.write_bytes(whole[: len(whole) * 2 // 3])
    inputs = find([str(path)])
    case = read(inputs, jobs=1)
    assert "damaged" in inputs.skipped
    assert len(case.sources) <= 1


def test_a_bomb_is_left_where_it_turns_out_to_be_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "FREE_RATIO", 1 << 20)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(10) + b"a" * (32 << 20)))
    inputs = find([str(path)])
    read(inputs, jobs=1)
    assert inputs.skipped["damaged"] == [str(path)]


def test_binary_empty_and_unreadable_files_are_counted(tmp_path: Path) -> None:
    (tmp_path / "core.log").write_bytes(bytes(range(256)) * 100)
    (tmp_path / "empty.log").write_bytes(b"")
    (tmp_path / "gone.log").symlink_to(tmp_path / "nowhere")
    (tmp_path / "good.log").write_text("hello\n")
    inputs = find([str(tmp_path)])
    case = read(inputs, jobs=1)
    assert [Path(source.name).name for source in case.sources] == ["good.log"]
    assert {reason: len(each) for reason, each in inputs.skipped.items()} == {
        "binary": 1,
        "empty": 1,
        "unreadable": 1,
    }


def test_a_pattern_takes_the_job_that_wrote_last(tmp_path: Path) -> None:
    for job, at in (("1001", 100), ("1002", 200)):
        for node in ("n1", "n2"):
            path = tmp_path / f"train-{job}-{node}.out"
            path.write_text("x\n")
            os.utime(path, (at, at))
    (tmp_path / "train-old-n1.out").write_text("x\n")  # no number of a job
    found = find([str(tmp_path / "%x-%j-%N.out")])
    assert names(found) == ["train-1002-n1.out", "train-1002-n2.out"]
    assert len(found.skipped["other-jobs"]) == 2


def test_a_shells_substitution_is_read(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"Segmentation fault (core dumped)\n")
    os.close(writer)
    try:
        case = read(find([f"/dev/fd/{reader}"]), jobs=1)
    finally:
        os.close(reader)
    assert [line.text for line in case.lines] == ["Segmentation fault (core dumped)"]
