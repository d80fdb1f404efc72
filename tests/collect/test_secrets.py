from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.collect.secrets import DROPPED, cleaned, without_secrets
from evenpace.collect.slurm.model import Script
from evenpace.collect.snapshot import Snapshot, Why

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


def in_pod(name: str, value: str) -> Any:
    """Return a pod's variable as it is saved."""
    pod = {"spec": {"containers": [{"env": [{"name": name, "value": value}]}]}}
    snapshot = without_secrets(Snapshot("kubernetes", "x", NOW, {"pods": (pod,)}))
    return snapshot.kinds["pods"][0]["spec"]["containers"][0]["env"][0]["value"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WANDB_API_KEY", "abc"),
        ("AWS_SECRET_ACCESS_KEY", "x"),
        ("DB_PASSWORD", "hunter2"),
        ("HF_TOKEN", "t"),
        ("ANY", "hf_" + "a" * 30),
        ("ANY", "ghp_" + "A1" * 18),
        ("ANY", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc"),
        ("ANY", "0123456789abcdef0123456789abcdef01234567"),
    ],
)
def test_a_variable_that_looks_like_a_secret_is_dropped(name: str, value: str) -> None:
    assert in_pod(name, value) == DROPPED


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NCCL_DEBUG", "INFO"),
        ("TOKENIZERS_PARALLELISM", "false"),
        ("MAX_TOKENS", "4096"),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "/var/run/token"),
        ("MASTER_ADDR", "train-0.train"),
    ],
)
def test_a_variable_that_is_none_stays(name: str, value: str) -> None:
    assert in_pod(name, value) == value


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("s3://bucket/x https://me:hunter2@host/x", f"s3://bucket/x https://me:{DROPPED}@host/x"),
        ("train.py --api-key=abcdef --nodes 4", f"train.py --api-key={DROPPED} --nodes 4"),
        ("export HF_TOKEN=abcdef", f"export HF_TOKEN={DROPPED}"),
        ("--max-tokens 4096 --key nvidia.com/gpu", "--max-tokens 4096 --key nvidia.com/gpu"),
    ],
)
def test_secrets_within_texts_are_dropped(text: str, kept: str) -> None:
    assert cleaned(text) == kept


def test_fields_that_only_sound_secret_stay() -> None:
    spec = {
        "tolerations": [{"key": "nvidia.com/gpu", "value": "present"}],
        "imagePullSecrets": [{"name": "registry"}],
        "volumes": [{"secret": {"secretName": "tls"}}],
    }
    (pod,) = without_secrets(Snapshot("kubernetes", "x", NOW, {"pods": ({"spec": spec},)})).kinds["pods"]
    assert pod == {"spec": spec}


def test_annotations_and_settings_are_looked_at_by_name() -> None:
    pod = {"metadata": {"annotations": {"acme.io/api-token": "abc", "note": "fine"}}}
    (found,) = without_secrets(Snapshot("kubernetes", "x", NOW, {"pods": (pod,)})).kinds["pods"]
    assert found["metadata"]["annotations"] == {"acme.io/api-token": DROPPED, "note": "fine"}
    kinds = {
        "config": {"JobCompPass": "abc", "KillWait": "30"},
        "scripts": (Script("job", "/x", "#!/bin/sh\nexport WANDB_API_KEY=abcdef\ntrain\n"),),
    }
    slurm = without_secrets(Snapshot("slurm", "x", NOW, kinds)).kinds
    assert slurm["config"] == {"JobCompPass": DROPPED, "KillWait": "30"}
    assert slurm["scripts"][0].text == f"#!/bin/sh\nexport WANDB_API_KEY={DROPPED}\ntrain\n"


def test_parts_that_were_held_once_still_are() -> None:
    part = {"env": [{"name": "A_TOKEN", "value": "x"}]}
    pods = ({"spec": part}, {"spec": part})
    first, second = without_secrets(Snapshot("kubernetes", "x", NOW, {"pods": pods})).kinds["pods"]
    assert first["spec"] is second["spec"]


@given(
    value=st.recursive(
        st.none() | st.integers() | st.text(max_size=40),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=6), inner),
        max_leaves=10,
    )
)
def test_whatever_was_read_can_be_cleaned(value: Any) -> None:
    changed = without_secrets(Snapshot("kubernetes", "x", NOW, {"pods": (value,)})).kinds["pods"]
    json.dumps(changed)


def test_a_kind_that_is_nested_too_deeply_is_unread_and_the_others_are_kept() -> None:
    deep: Any = []
    for _ in range(2000):
        deep = [deep]
    found = without_secrets(
        Snapshot("kubernetes", "x", NOW, {"pods": ({"spec": deep},), "nodes": ({"a": 1},)})
    )
    assert found.kinds == {"nodes": ({"a": 1},)}
    assert found.unread["pods"].why is Why.MALFORMED
