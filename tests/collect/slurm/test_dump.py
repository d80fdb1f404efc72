from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from evenpace.collect import dump as every
from evenpace.collect.slurm import dump
from evenpace.collect.slurm.model import TYPES
from evenpace.collect.snapshot import Snapshot, Why

RECORDED = Path(__file__).with_name("recorded")


def read(folder: Path) -> Snapshot:
    snapshot = dump.read(folder)
    assert snapshot is not None
    return snapshot


@pytest.mark.parametrize("version", ["22.05", "23.11", "24.11", "25.11"])
def test_a_dump_of_every_version_is_read_whole(version: str) -> None:
    snapshot = read(RECORDED / version)
    assert dict(snapshot.unread) == {}
    assert set(snapshot.kinds) == set(TYPES) - {"scripts", "gres.conf"}
    assert snapshot.version is not None
    assert snapshot.version.startswith(version)
    assert snapshot.taken.strftime("%Y-%m-%d") == "2026-11-30"  # what the settings say, not the file's age


@pytest.mark.parametrize("version", ["24.05-json", "25.05-json"])
def test_a_dump_of_json_alone_is_read(version: str) -> None:
    assert set(read(RECORDED / version).kinds) == {
        "nodes",
        "partitions",
        "reservations",
        "jobs",
        "accounting",
    }


def test_a_dump_of_slurm_alone_is_no_dump_of_kubernetes() -> None:
    assert [snapshot.family for snapshot in every.read(RECORDED / "24.11")] == ["slurm"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("scontrol_show_node.txt", "nodes"),
        ("scontrol-show-nodes.txt", "nodes"),
        ("scontrol -a -d -o show node.txt", "nodes"),
        ("scontrol_--oneliner_show_nodes.txt", "nodes"),
    ],
)
def test_files_are_named_for_their_commands(name: str, kind: str, tmp_path: Path) -> None:
    shutil.copy(RECORDED / "24.11" / "scontrol_show_node.txt", tmp_path / name)
    assert set(read(tmp_path).kinds) == {kind}


def test_json_in_a_file_of_text_is_read_as_json(tmp_path: Path) -> None:
    shutil.copy(RECORDED / "24.11" / "squeue.json", tmp_path / "squeue.txt")
    assert len(read(tmp_path).kinds["jobs"]) == 2


def test_nodes_of_scontrol_go_before_those_of_sinfo(tmp_path: Path) -> None:
    for name in ("sinfo.json", "scontrol_show_node.json"):
        shutil.copy(RECORDED / "24.11" / name, tmp_path)
    assert read(tmp_path).kinds["nodes"][0].os


def test_a_damaged_file_is_a_reason_unless_another_tells_the_same(tmp_path: Path) -> None:
    (tmp_path / "squeue.json").write_text("{", "utf-8")
    assert read(tmp_path).unread["jobs"].why is Why.MALFORMED
    shutil.copy(RECORDED / "24.11" / "scontrol_show_job.txt", tmp_path)
    assert read(tmp_path).unread == {}


def test_no_jobs_is_an_empty_list(tmp_path: Path) -> None:
    (tmp_path / "scontrol_show_job.txt").write_text("No jobs in the system\n", "utf-8")
    assert read(tmp_path).kinds["jobs"] == ()


def test_scripts_are_read_by_their_names(tmp_path: Path) -> None:
    for name in (
        "scripts/Prolog.sh",
        "scripts/healthcheckprogram",
        "scripts/other.sh",
        "job_scripts/4711.sh",
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\n", "utf-8")
    os.mkfifo(tmp_path / "scripts" / "Epilog")
    found = [(one.role, one.job) for one in read(tmp_path).kinds["scripts"]]
    assert found == [("Prolog", ""), ("HealthCheckProgram", ""), ("job", "4711")]


def test_gres_conf_is_read(tmp_path: Path) -> None:
    (tmp_path / "gres.conf").write_text("Name=gpu\n", "utf-8")
    assert read(tmp_path).kinds == {"gres.conf": "Name=gpu\n"}


def test_a_folder_of_other_things_is_no_dump(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x", "utf-8")
    (tmp_path / "_-.json").write_text("x", "utf-8")
    assert dump.read(tmp_path) is None
