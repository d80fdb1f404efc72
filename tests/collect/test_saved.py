from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evenpace.collect.saved import encoded, read, read_all
from evenpace.collect.slurm.model import Job, Node, Partition, Script
from evenpace.collect.snapshot import Snapshot, Unread, Why
from evenpace.errors import Problem

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
KUBERNETES = Snapshot(
    "kubernetes",
    "context prod",
    NOW,
    {"nodes": tuple({"kind": "Node", "metadata": {"name": f"n{one}"}} for one in range(1203)), "pods": ()},
    {"events": Unread(Why.FORBIDDEN, "list events", "403")},
    "v1.33.1",
    {"pods": Unread(Why.MISSING, "other namespaces")},
)
SLURM = Snapshot(
    "slurm",
    "slurm",
    NOW,
    {
        "config": {"KillWait": "30 sec"},
        "nodes": (Node("gpu1", ("IDLE", "DRAIN"), reason_time=NOW, gpus=8),),
        "partitions": (Partition("train", max_time=None, grace=3.5),),
        "jobs": (Job("7", nodes=("gpu1",), started=NOW),),
        "scripts": (Script("Prolog", "/p", "#!/bin/sh\n"),),
        "topology": "SwitchName=a",
    },
)


def written(path: Path, *snapshots: Snapshot) -> Path:
    path.write_bytes(b"".join(encoded(snapshots)))
    return path


@pytest.mark.parametrize("snapshots", [(KUBERNETES,), (SLURM,), (KUBERNETES, SLURM)])
def test_what_was_saved_is_read_as_it_was(tmp_path: Path, snapshots: tuple[Snapshot, ...]) -> None:
    assert read_all(written(tmp_path / "saved.json", *snapshots)) == snapshots


def test_a_file_of_several_is_not_one(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="it holds 2"):
        read(written(tmp_path / "saved.json", KUBERNETES, SLURM))


@pytest.mark.parametrize("name", ["own.json", "own.yaml"])
@pytest.mark.parametrize(
    ("document", "told"),
    [
        (
            {"schema": 1, "findings": [], "checks": []},
            r"not what it read: .*--save.*--baseline .*/own\.",
        ),
        ({"apiVersion": "v1", "kind": "List", "items": []}, "put it in a folder"),
    ],
)
def test_what_another_command_printed_is_said_to_be_that(
    tmp_path: Path, name: str, document: dict[str, Any], told: str
) -> None:
    (tmp_path / name).write_text(json.dumps(document), "utf-8")
    with pytest.raises(Problem, match=told):
        read_all(tmp_path / name)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=15,
    )
)
def test_objects_of_any_shape_come_back(tmp_path: Path, value: Any) -> None:
    snapshot = Snapshot("kubernetes", "x", NOW, {"pods": ({"spec": value},)})
    assert read(written(tmp_path / "saved.json", snapshot)) == snapshot


@pytest.mark.parametrize(
    "document",
    [
        "",
        "[",
        "[]",
        "3",
        "[3]",
        '[{"family": "slurm"}]',
        '{"family": "x", "taken": "2026-11-29T12:00:00"}',
        "\x00",
    ],
)
def test_json_that_is_no_snapshot_is_one_clear_line(tmp_path: Path, document: str) -> None:
    path = tmp_path / "saved.json"
    path.write_text(document, "utf-8")
    with pytest.raises(Problem, match="is no saved snapshot"):
        read_all(path)


def test_a_kind_of_the_wrong_shape_is_malformed_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "saved.json"
    kinds = {"nodes": 3, "pods": [1], "services": [], "events": [{"a": 1}]}
    path.write_text(json.dumps({"family": "kubernetes", "taken": "2026-11-29T12:00:00Z", "kinds": kinds}))
    snapshot = read(path)
    assert snapshot.kinds == {"services": (), "events": ({"a": 1},)}
    assert {one.why for one in snapshot.unread.values()} == {Why.MALFORMED}


HEAD = "family: kubernetes\ntaken: 2026-11-29T12:00:00Z\n"
LEVELS = ", ".join(f"l{one}: &l{one} [{', '.join([f'*l{one - 1}'] * 9)}]" for one in range(1, 30))


@pytest.mark.parametrize(
    "document",
    [
        HEAD + "kinds: {nodes: [{spec: &spec {me: *spec}}]}",
        HEAD + f"kinds: {{nodes: [{{l0: &l0 [x], {LEVELS}}}]}}",
        "family: windows\ntaken: 2026-11-29T12:00:00Z",
        "family: kubernetes\ntaken: 0001-01-01T00:00:00+14:00",
        "family: kubernetes\ntaken: 9999-12-31T23:59:59-14:00",
    ],
    ids=["holds-itself", "unfolds", "family", "before-all-time", "after-all-time"],
)
def test_what_nothing_could_work_with_is_no_snapshot(tmp_path: Path, document: str) -> None:
    file = tmp_path / "saved.yaml"
    file.write_text(document, "utf-8")
    with pytest.raises(Problem, match="is no saved snapshot"):
        read_all(file)


def test_an_alias_is_read_as_what_it_stands_for(tmp_path: Path) -> None:
    file = tmp_path / "saved.yaml"
    file.write_text(HEAD + "kinds: {nodes: [{spec: &it {a: 1}}, {spec: *it}]}", "utf-8")
    assert read(file).kinds["nodes"] == ({"spec": {"a": 1}}, {"spec": {"a": 1}})
