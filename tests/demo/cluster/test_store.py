"""The store: versions, what nobody may change, finalizers, pods on dead nodes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.demo.cluster.made import pod

from evenpace.demo.cluster.refused import Refused
from evenpace.demo.cluster.resources import RESOURCES
from evenpace.demo.cluster.store import Store, Way


def test_what_was_handed_out_never_changes(store: Store) -> None:
    first = store.get("nodes", "", "gpu-1")
    store.edit("nodes", "", "gpu-1", lambda one: {**one, "spec": {"unschedulable": True}})
    assert first["spec"] == {}
    second = store.get("nodes", "", "gpu-1")
    assert second["spec"] == {"unschedulable": True}
    assert int(second["metadata"]["resourceVersion"]) > int(first["metadata"]["resourceVersion"])
    assert (first["metadata"]["generation"], second["metadata"]["generation"]) == (1, 2)


def test_identity_stays(store: Store) -> None:
    old = store.get("nodes", "", "gpu-1")
    forged = {"name": "x", "uid": "x", "namespace": "x", "creationTimestamp": "x", "labels": {"a": "b"}}
    new = store.edit("nodes", "", "gpu-1", lambda one: {**one, "kind": "X", "metadata": forged})
    kept = ("name", "uid", "creationTimestamp")
    assert [new["metadata"][field] for field in kept] == [old["metadata"][field] for field in kept]
    assert new["kind"] == "Node"
    assert "namespace" not in new["metadata"]
    assert new["metadata"]["labels"] == {"a": "b"}


def test_an_edit_of_an_old_version_is_refused(store: Store) -> None:
    stale = store.get("nodes", "", "gpu-1")
    store.edit("nodes", "", "gpu-1", lambda one: {**one, "spec": {"a": 1}})
    with pytest.raises(Refused) as refused:
        store.edit("nodes", "", "gpu-1", lambda _: {**stale, "spec": {"b": 1}})
    assert (refused.value.code, refused.value.reason) == (409, "Conflict")


def test_an_edit_that_changes_nothing_makes_no_version(store: Store) -> None:
    version = store.version
    store.edit("nodes", "", "gpu-1", lambda one: one)
    assert store.version == version


@pytest.mark.parametrize(
    ("resource", "one", "code"),
    [
        ("pods", {"metadata": {}}, 422),
        ("pods", pod("train-0"), 409),
        ("pods", {"metadata": {"name": "a", "namespace": "nowhere"}}, 404),
        ("unicorns", {"metadata": {"name": "a"}}, 404),
    ],
)
def test_what_cannot_be_created(store: Store, resource: str, one: dict[str, Any], code: int) -> None:
    with pytest.raises(Refused) as refused:
        store.create(resource, one)
    assert refused.value.code == code


def test_names_can_be_made() -> None:
    store = Store(now=lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    made = store.create("nodes", {"metadata": {"generateName": "gpu-"}})
    assert made["metadata"]["name"].startswith("gpu-")
    assert made["metadata"]["creationTimestamp"] == "2026-01-02T03:04:05Z"


def test_finalizers_hold_an_object(store: Store) -> None:
    def with_finalizers(names: list[str]) -> Any:
        return lambda one: {**one, "metadata": {**one["metadata"], "finalizers": names}}

    store.edit("pods", "ml", "train-0", with_finalizers(["batch.kubernetes.io/job-tracking"]))
    marked = store.delete("pods", "ml", "train-0", force=True)
    assert marked["metadata"]["deletionTimestamp"]
    assert store.delete("pods", "ml", "train-0") == marked
    store.edit("pods", "ml", "train-0", with_finalizers([]))
    with pytest.raises(Refused):
        store.get("pods", "ml", "train-0")


def test_pods_of_a_dead_node_stay(store: Store) -> None:
    dead = {"conditions": [{"type": "Ready", "status": "Unknown"}]}
    store.edit("nodes", "", "gpu-1", lambda one: {**one, "status": dead})
    marked = store.delete("pods", "ml", "train-0")
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 30
    assert store.get("pods", "ml", "train-0") == marked
    store.delete("pods", "ml", "train-0", force=True)
    with pytest.raises(Refused):
        store.get("pods", "ml", "train-0")


def test_dry_runs_change_nothing(store: Store) -> None:
    version = store.version
    store.create("pods", pod("new"), dry=True)
    store.edit("pods", "ml", "train-0", lambda one: {**one, "spec": {}}, dry=True)
    store.delete("pods", "ml", "train-0", dry=True)
    assert store.version == version


def test_changes_since_a_version(store: Store) -> None:
    start = store.version
    store.create("pods", pod("new"))
    store.edit("nodes", "", "gpu-1", lambda one: {**one, "spec": {"a": 1}})
    store.delete("pods", "ml", "new")
    changes, version = store.since("pods", start)
    assert [change.way for change in changes] == [Way.ADDED, Way.DELETED]
    assert version == store.version
    store.forget()
    with pytest.raises(Refused) as refused:
        store.since("pods", start)
    assert refused.value.code == 410
    assert store.since("pods", store.version) == ([], store.version)


def test_a_resource_may_cease_to_be_served(store: Store) -> None:
    resource = next(one for one in RESOURCES if one.name == "pods")
    store.serve(resource, served=False)
    with pytest.raises(Refused):
        store.objects("pods")
    store.serve(resource, served=True)
    assert len(store.objects("pods")[0]) == 3


def test_objects_are_in_order(store: Store) -> None:
    store.create("namespaces", {"metadata": {"name": "a"}})
    store.create("pods", {"metadata": {"name": "z", "namespace": "a"}})
    assert [one["metadata"]["name"] for one in store.objects("pods")[0]] == [
        "z",
        "train-0",
        "train-1",
        "train-2",
    ]
    assert [one["metadata"]["name"] for one in store.objects("pods", "a")[0]] == ["z"]
