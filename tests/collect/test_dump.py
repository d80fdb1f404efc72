from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evenpace.collect.dump import read
from evenpace.collect.snapshot import Why
from evenpace.errors import Problem

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gpu-1"}}
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}, "data": {"a": "b"}}


def put(folder: Path, name: str, document: Any) -> None:
    (folder / name).write_text(document if isinstance(document, str) else json.dumps(document), "utf-8")


def test_objects_say_what_they_are_and_empty_lists_are_known_by_name(tmp_path: Path) -> None:
    put(tmp_path, "all.json", {"apiVersion": "v1", "kind": "List", "items": [NODE, SECRET, 3]})
    put(tmp_path, "jobsets.json", {"apiVersion": "v1", "kind": "List", "items": []})
    (snapshot,) = read(tmp_path)
    assert snapshot.kinds == {"nodes": (NODE,), "jobsets.jobset.x-k8s.io": ()}


def test_a_typed_list_lends_its_objects_their_type(tmp_path: Path) -> None:
    bare = {"metadata": {"name": "gpu-1"}}
    put(tmp_path, "x.json", {"apiVersion": "v1", "kind": "NodeList", "items": [bare]})
    (snapshot,) = read(tmp_path)
    assert snapshot.kinds == {"nodes": (NODE,)}


def test_what_the_cluster_lacks_is_told_from_what_the_dump_lacks(tmp_path: Path) -> None:
    put(tmp_path, "nodes.json", NODE)
    put(tmp_path, "api-resources.txt", "nodes\npods\n")
    (snapshot,) = read(tmp_path)
    jobsets, pods = snapshot.reason("jobsets.jobset.x-k8s.io"), snapshot.reason("pods")
    assert jobsets is not None
    assert jobsets.why is Why.ABSENT
    assert pods is not None
    assert pods.why is Why.MISSING


def test_a_damaged_file_is_a_reason(tmp_path: Path) -> None:
    put(tmp_path, "nodes.json", "{")
    (snapshot,) = read(tmp_path)
    assert snapshot.unread["nodes"].why is Why.MALFORMED


def test_settings_of_slurm_are_read(tmp_path: Path) -> None:
    put(tmp_path, "scontrol-show-config.txt", "KillWait = 30 sec\nSLURM_VERSION = 24.11.5\n")
    (snapshot,) = read(tmp_path)
    assert (snapshot.family, snapshot.version) == ("slurm", "24.11.5")
    assert snapshot.kinds["config"]["KillWait"] == "30 sec"


def test_a_folder_without_facts_says_how_to_fill_it(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="kubectl get KIND"):
        read(tmp_path)


@pytest.mark.parametrize(
    "document", ["", "[]", "family: slurm", "family: slurm\ntaken: 2026-11-29T12:00:00", "a: &a [*a]", "\x00"]
)
def test_a_file_that_is_no_snapshot_is_one_clear_line(tmp_path: Path, document: str) -> None:
    path = tmp_path / "saved.yaml"
    path.write_text(document, "utf-8")
    with pytest.raises(Problem, match="is no saved snapshot"):
        read(path)


def test_a_kind_of_the_wrong_shape_is_malformed_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "saved.yaml"
    path.write_text(
        "family: slurm\ntaken: 2026-11-29T12:00:00Z\nkinds: {nodes: 3, config: {A: b}}\n", "utf-8"
    )
    (snapshot,) = read(path)
    assert snapshot.unread["nodes"].why is Why.MALFORMED
    assert snapshot.kinds == {"config": {"A": "b"}}


ANYTHING: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["items", "kind", "apiVersion", "metadata", "name"]), inner, max_size=4
        )
    ),
    max_leaves=15,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=ANYTHING, version=ANYTHING, other=st.binary(max_size=60))
def test_whatever_a_dump_holds_it_is_read(tmp_path: Path, document: Any, version: Any, other: bytes) -> None:
    put(tmp_path, "nodes.json", NODE)
    put(tmp_path, "pods.json", document)
    put(tmp_path, "version.json", version)
    (tmp_path / "jobsets.json").write_bytes(other)
    (snapshot,) = read(tmp_path)
    assert snapshot.kinds["nodes"] == (NODE,)


def test_what_nobody_reads_is_left_out_of_objects(tmp_path: Path) -> None:
    notes = {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
    node = {**NODE, "metadata": {"name": "gpu-1", "managedFields": [{}], "annotations": notes}}
    put(tmp_path, "nodes.json", {"apiVersion": "v1", "kind": "List", "items": [node]})
    (snapshot,) = read(tmp_path)
    assert snapshot.kinds["nodes"] == ({**NODE, "metadata": {"name": "gpu-1", "annotations": {}}},)


@pytest.mark.parametrize("name", ["api-resources.txt", "version.json", "pods.json", "sinfo.txt"])
def test_a_pipe_in_a_dump_is_not_waited_for(tmp_path: Path, name: str) -> None:
    (tmp_path / "nodes.json").write_text('{"items": []}', "utf-8")
    os.mkfifo(tmp_path / name)
    (snapshot,) = read(tmp_path)
    assert set(snapshot.kinds) == {"nodes"}
