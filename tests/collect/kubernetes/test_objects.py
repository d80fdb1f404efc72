from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.collect.kubernetes.objects import UNREADABLE, Objects

ANYTHING: Any = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=40,
)


@given(parts=st.lists(st.dictionaries(st.text(max_size=6) | st.sampled_from(["spec"]), ANYTHING, max_size=4)))
def test_objects_are_what_plain_decoding_gives(parts: list[dict[str, Any]]) -> None:
    document = json.dumps({"metadata": {"continue": "t"}, "items": parts}).encode()
    found, following = Objects("v1", "Pod").page(document)
    kept = [
        {key: one for key, one in part.items() if key not in {"metadata", "apiVersion", "kind"}}
        for part in parts
    ]
    typed = [{"apiVersion": "v1", "kind": "Pod", **part} for part in kept]
    assert [{k: v for k, v in one.items() if k != "metadata"} for one in found] == typed
    assert following == "t"


@given(raw=st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_any_bytes_are_objects_or_unreadable(raw: bytes) -> None:
    for read in (Objects("v1", "Pod").page, Objects().listed, Objects("v1", "Pod").one):
        try:
            read(raw)
        except UNREADABLE:
            continue


def test_alike_parts_are_held_once() -> None:
    spec = {"containers": [{"name": "train", "image": "registry/" + "x" * 100}], "nodeName": "a" * 100}
    pods = [{"metadata": {"name": name}, "spec": {**spec, "hostname": name}} for name in ("a", "b")]
    (first, second), _ = Objects("v1", "Pod").page(json.dumps({"items": pods}).encode())
    assert first["spec"]["containers"] is second["spec"]["containers"]
    assert first["spec"] is not second["spec"]


def test_what_nobody_reads_is_left_out() -> None:
    notes = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "a": "b"}
    pod = {"metadata": {"name": "x", "managedFields": [{}], "annotations": notes}}
    assert Objects("v1", "Pod").one(json.dumps(pod).encode())["metadata"] == {
        "name": "x",
        "annotations": {"a": "b"},
    }


@pytest.mark.parametrize("metadata", [None, 3, [], "x"])
def test_metadata_of_any_shape_is_kept(metadata: Any) -> None:
    (one,), _ = Objects("v1", "Pod").page(json.dumps({"items": [{"metadata": metadata}]}).encode())
    assert one["metadata"] == metadata


def test_what_is_read_again_and_again_is_not_kept_for_ever() -> None:
    objects = Objects("v1", "Pod")
    for number in range(40):
        page = [{"spec": {"text": f"{number}-{one}-" + "x" * 1000}} for one in range(500)]
        objects.page(json.dumps({"items": page}).encode())
    assert sum(map(len, objects._seen)) <= 9 << 20
