"""Selectors choose what a real server's would, and refuse what it refuses."""

from __future__ import annotations

import pytest

from evenpace.demo.cluster.refused import Refused
from evenpace.demo.cluster.selectors import of, selector

POD = {
    "metadata": {"name": "a", "namespace": "ml", "labels": {"app": "train", "tier": "gpu", "empty": ""}},
    "spec": {"nodeName": "gpu-1", "hostNetwork": True},
    "status": {"phase": "Running"},
}


@pytest.mark.parametrize(
    ("labels", "chosen"),
    [
        ("", True),
        ("app=train", True),
        ("app==train", True),
        ("app=other", False),
        ("app!=other", True),
        ("app!=train", False),
        ("missing!=x", True),
        ("app", True),
        ("missing", False),
        ("!missing", True),
        ("!app", False),
        ("app in (train, test)", True),
        ("app notin (train,test)", False),
        ("missing notin (x)", True),
        ("empty=", True),
        ("app=train,tier in (gpu,cpu),!missing", True),
        ("app=train,tier=cpu", False),
    ],
)
def test_labels(labels: str, chosen: bool) -> None:
    assert selector("pods", labels)(POD) is chosen


@pytest.mark.parametrize(
    ("fields", "chosen"),
    [
        ("spec.nodeName=gpu-1", True),
        ("spec.nodeName=gpu-2", False),
        ("spec.nodeName!=gpu-2", True),
        ("status.phase!=Running", False),
        ("metadata.name=a,metadata.namespace=ml", True),
        ("spec.hostNetwork=true", True),
        ("status.podIP=", True),
    ],
)
def test_fields(fields: str, chosen: bool) -> None:
    assert selector("pods", fields=fields)(POD) is chosen


@pytest.mark.parametrize(
    ("labels", "fields"),
    [
        ("a b=c", ""),
        ("-x", ""),
        ("app in train", ""),
        ("", "spec.containers=x"),
        ("", "spec.nodeName"),
        ("", "status.conditions=x"),
    ],
)
def test_what_a_server_refuses(labels: str, fields: str) -> None:
    with pytest.raises(Refused) as refused:
        selector("pods", labels, fields)
    assert refused.value.code == 400


def test_selectors_of_objects() -> None:
    assert of({"matchLabels": {"app": "train"}})(POD)
    assert not of({"matchLabels": {"app": "train", "tier": "cpu"}})(POD)
    rules = [
        {"key": "tier", "operator": "In", "values": ["gpu"]},
        {"key": "app", "operator": "NotIn", "values": ["x"]},
        {"key": "app", "operator": "Exists"},
        {"key": "missing", "operator": "DoesNotExist"},
    ]
    assert of({"matchExpressions": rules})(POD)
    assert of({})(POD)
