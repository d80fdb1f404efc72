"""Patches do what RFC 6902, RFC 7386 and Kubernetes' strategic merge say, and leave the old object alone."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.demo.cluster.patches import apply, json_patch, merge_patch, strategic_patch
from evenpace.demo.cluster.refused import Refused

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)
OBJECTS = st.dictionaries(st.text(max_size=3), JSON, max_size=4)


# The examples of RFC 7386, appendix A.
@pytest.mark.parametrize(
    ("one", "patch", "patched"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch(one: Any, patch: Any, patched: Any) -> None:
    assert merge_patch(one, patch) == patched


@given(OBJECTS, OBJECTS)
def test_a_patch_leaves_the_old_object_alone(one: dict[str, Any], patch: dict[str, Any]) -> None:
    before = copy.deepcopy(one)
    merge_patch(one, patch)
    assert one == before
    assert merge_patch(merge_patch(one, patch), patch) == merge_patch(one, patch)


@pytest.mark.parametrize(
    ("operations", "patched"),
    [
        ([{"op": "add", "path": "/b", "value": 1}], {"a": [1, 2], "b": 1}),
        ([{"op": "add", "path": "/a/1", "value": 9}], {"a": [1, 9, 2]}),
        ([{"op": "add", "path": "/a/-", "value": 9}], {"a": [1, 2, 9]}),
        ([{"op": "remove", "path": "/a/0"}], {"a": [2]}),
        ([{"op": "replace", "path": "/a", "value": {}}], {"a": {}}),
        ([{"op": "move", "from": "/a/0", "path": "/b"}], {"a": [2], "b": 1}),
        ([{"op": "copy", "from": "/a", "path": "/b"}], {"a": [1, 2], "b": [1, 2]}),
        ([{"op": "test", "path": "/a/1", "value": 2}], {"a": [1, 2]}),
        ([{"op": "add", "path": "/x~1y~0z", "value": 1}], {"a": [1, 2], "x/y~z": 1}),
        ([{"op": "replace", "path": "", "value": {"c": 1}}], {"c": 1}),
    ],
)
def test_json_patch(operations: list[dict[str, Any]], patched: Any) -> None:
    one = {"a": [1, 2]}
    assert json_patch(one, operations) == patched
    assert one == {"a": [1, 2]}


@pytest.mark.parametrize(
    "operations",
    [
        {"op": "add"},
        [{"op": "test", "path": "/a/0", "value": 7}],
        [{"op": "remove", "path": "/missing"}],
        [{"op": "replace", "path": "/missing", "value": 1}],
        [{"op": "add", "path": "/a/9", "value": 1}],
        [{"op": "add", "path": "/a/0/b", "value": 1}],
        [{"op": "unknown", "path": "/a"}],
        [{"op": "add", "path": "/a/x", "value": 1}],
        [{"path": "/a"}],
        ["text"],
    ],
)
def test_json_patches_that_do_not_fit(operations: Any) -> None:
    with pytest.raises(Refused):
        json_patch({"a": [1, 2]}, operations)


def test_strategic_patches_merge_lists_by_their_keys() -> None:
    one = {
        "containers": [{"name": "a", "env": [{"name": "X", "value": "1"}]}, {"name": "b"}],
        "tolerations": [{"key": "old"}],
        "finalizers": ["first"],
    }
    patch = {
        "containers": [
            {"name": "a", "env": [{"name": "Y", "value": "2"}]},
            {"name": "b", "$patch": "delete"},
        ],
        "tolerations": [{"key": "new"}],
        "finalizers": ["second", "first"],
    }
    env = [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]
    assert strategic_patch(one, patch) == {
        "containers": [{"name": "a", "env": env}],
        "tolerations": [{"key": "new"}],
        "finalizers": ["first", "second"],
    }


def test_directives_of_strategic_patches() -> None:
    replaced = strategic_patch(
        {"volumes": [{"name": "a"}]}, {"volumes": [{"name": "b"}, {"$patch": "replace"}]}
    )
    assert replaced == {"volumes": [{"name": "b"}]}
    assert strategic_patch({"spec": {"a": 1}}, {"spec": {"$patch": "replace", "b": 2}}) == {"spec": {"b": 2}}
    patch = {"$deleteFromPrimitiveList/finalizers": ["x"], "$setElementOrder/finalizers": ["y"]}
    assert strategic_patch({"finalizers": ["x", "y"]}, patch) == {"finalizers": ["y"]}
    with pytest.raises(Refused):
        strategic_patch({"volumes": []}, {"volumes": [{"emptyDir": {}}]})


def test_ports_of_containers_and_services() -> None:
    assert strategic_patch(
        {"ports": [{"containerPort": 1}]}, {"ports": [{"containerPort": 1, "name": "a"}]}
    ) == {"ports": [{"containerPort": 1, "name": "a"}]}
    assert strategic_patch({"ports": [{"port": 80}]}, {"ports": [{"port": 81}]}) == {
        "ports": [{"port": 80}, {"port": 81}]
    }


def test_custom_resources_have_no_strategic_patch() -> None:
    with pytest.raises(Refused) as refused:
        apply("application/strategic-merge-patch+json", {}, {}, builtin=False)
    assert refused.value.code == 415
    with pytest.raises(Refused):
        apply("application/apply-patch+yaml", {}, {}, builtin=True)
    with pytest.raises(Refused):
        apply("application/json-patch+json", {}, [{"op": "replace", "path": "", "value": 1}], builtin=True)
