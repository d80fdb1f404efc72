from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.checks.catalogue import Check, checks
from evenpace.checks.running import run
from evenpace.checks.words import looked_for
from evenpace.collect import saved
from evenpace.collect.redact import redacted
from evenpace.collect.slurm.model import TYPES, Job, Node
from evenpace.collect.snapshot import Snapshot, Unread, Why

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
FIXTURES = [(check, path) for check in checks().values() for path in sorted(check.folder.glob("fixtures/*"))]
ANYTHING: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(max_size=6) | st.sampled_from(["name", "value", "labels", "data"]), inner, max_size=3
        )
    ),
    max_leaves=15,
)


def of(**kinds: Any) -> Snapshot:
    """Return a snapshot of Kubernetes."""
    return Snapshot("kubernetes", "context prod", NOW, kinds, {}, "v1.33.1")


@pytest.mark.parametrize(
    ("check", "path"), FIXTURES, ids=lambda one: getattr(one, "id", getattr(one, "stem", ""))
)
def test_a_check_answers_as_it_did(check: Check, path: Path) -> None:
    """A word that a check looks for stands in its source or in what checks share, so it is kept."""
    snapshot = saved.read(path)
    (changed,) = redacted([snapshot], looked_for())
    before, after = run(check, snapshot), run(check, changed)
    assert after.error == before.error
    assert (after.outcome, after.failing, after.looked_at) == (
        before.outcome,
        before.failing,
        before.looked_at,
    )


def test_what_names_somebody_is_gone_and_what_belonged_together_still_does() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "acme-llama-0",
            "namespace": "acme",
            "labels": {"acme.io/owner": "jdoe", "nvidia.com/gpu.product": "NVIDIA-H100"},
            "annotations": {"note": "ask jdoe at 10.1.2.3"},
        },
        "spec": {
            "nodeName": "ip-10-4-5-6",
            "containers": [
                {
                    "name": "train",
                    "image": "registry.acme.io/llama:v7",
                    "args": ["--data=/mnt/acme/llama", "--nodes", "32"],
                    "env": [
                        {"name": "ACME_MODEL", "value": "llama"},
                        {"name": "NCCL_IB_TIMEOUT", "value": "22"},
                    ],
                    "resources": {"limits": {"nvidia.com/gpu": "8", "memory": "1000Gi"}},
                }
            ],
        },
        "status": {"phase": "Running", "podIP": "10.1.2.3", "startTime": "2026-11-29T11:00:00Z"},
    }
    node = {"kind": "Node", "metadata": {"name": "ip-10-4-5-6"}}
    (changed,) = redacted([of(pods=(pod,), nodes=(node,))], looked_for())
    text = json.dumps([changed.kinds, changed.source])
    for word in ("acme", "llama", "jdoe", "10.1.2.3", "10-4-5-6", "context"):
        assert word not in text.lower()
    (after,), (machine,) = changed.kinds["pods"], changed.kinds["nodes"]
    assert after["spec"]["nodeName"] == machine["metadata"]["name"]
    assert after["metadata"]["labels"]["nvidia.com/gpu.product"] == "NVIDIA-H100"
    container = after["spec"]["containers"][0]
    assert container["resources"] == {"limits": {"nvidia.com/gpu": "8", "memory": "1000Gi"}}
    assert container["env"][1] == {"name": "NCCL_IB_TIMEOUT", "value": "22"}
    assert container["args"][2] == "32"
    assert (after["status"]["phase"], after["status"]["startTime"]) == ("Running", "2026-11-29T11:00:00Z")


def test_nodes_of_slurm_keep_their_numbers_so_that_lists_still_name_them() -> None:
    kinds = {
        "nodes": (Node("acme12", ("IDLE",), "jdoe looks at it"), Node("acme13")),
        "jobs": (Job("7", "llama", "jdoe", nodes=("acme12",)),),
        "config": {"ClusterName": "acme", "KillWait": "30 sec", "Prolog": "/opt/acme/prolog.sh"},
        "topology": "SwitchName=leaf1 Nodes=acme[12-13]",
    }
    (changed,) = redacted([Snapshot("slurm", "acme", NOW, kinds)], looked_for())
    text = msgspec.json.encode(changed.kinds).decode().lower()
    for word in ("acme", "llama", "jdoe"):
        assert word not in text
    first, second = changed.kinds["nodes"]
    assert first.name.endswith("12")
    assert first.name[:-2] == second.name[:-2]
    assert changed.kinds["jobs"][0].nodes == (first.name,)
    assert f"Nodes={first.name[:-2]}[12-13]" in changed.kinds["topology"]
    assert changed.kinds["config"]["KillWait"] == "30 sec"


CHOSEN = ("labels", "annotations", "nodeSelector", "matchLabels", "selector", "data", "parameters")
OWN = {"states", "flags", "signal", "preempt_mode", "role"}  # of Slurm, words of its own alone


def planted(value: Any, key: str = "") -> Any:
    """Return facts with a customer in every text, and in every name that somebody chose."""
    if isinstance(value, str):
        kept = key in OWN or re.match("[0-9]{4}-[0-9]{2}-[0-9]{2}T", value)
        return value if kept else f"{value}Zebra-zebracorp"
    if isinstance(value, dict):
        more = {"zebracorp.io/zebra": "zebracorp", "team": "471147114711"} if key in CHOSEN else {}
        return {name: planted(one, name) for name, one in value.items()} | more
    return [planted(one, key) for one in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("family", ["kubernetes", "slurm"])
def test_a_customer_in_every_text_is_found_nowhere(family: str) -> None:
    """Wherever a check looks: conditions, reasons, kernels, labels, taints, environment, claims, settings."""
    for check, path in (one for one in FIXTURES if one[0].family == family):
        whole = saved.read(path)
        plain = planted(msgspec.to_builtins(dict(whole.kinds), enc_hook=str))
        kinds = {
            kind: msgspec.convert(value, TYPES[kind], strict=False) if family == "slurm" else tuple(value)
            for kind, value in plain.items()
        }
        (found,) = redacted([Snapshot(family, "zebracorp", NOW, kinds, {}, "v1.33-zebracorp")], looked_for())
        told = msgspec.json.encode([found.kinds, found.source, found.version], enc_hook=str).decode().lower()
        assert not re.findall(".{60}zebra.{20}|.{20}471147114711", told), (check.id, path.name)


def test_a_long_number_is_an_account_unless_it_is_an_amount() -> None:
    volume = {"emptyDir": {"sizeLimit": "34359738368"}}
    own = {
        "args": ["--account", "471147114711", "--steps", "500000"],
        "resources": {"limits": {"memory": "1" * 12}},
    }
    (found,) = redacted((of(pods=({"spec": {"containers": [own], "volumes": [volume]}},)),), looked_for())
    spec = found.kinds["pods"][0]["spec"]
    assert "471147114711" not in str(spec)
    assert spec["containers"][0]["args"][3] == "500000"
    assert spec["containers"][0]["resources"] == own["resources"]
    assert spec["volumes"] == [volume]


def test_a_user_s_number_goes_with_him() -> None:
    job = Job("4711", "train", "u123456", command="/home/u123456/job.sbatch", stdout="/home/u123456/%j.out")
    (found,) = redacted([Snapshot("slurm", "s", NOW, {"jobs": (job,)})], looked_for())
    (after,) = found.kinds["jobs"]
    assert "123456" not in str(after)
    assert after.command == f"/home/{after.user}/job.sbatch"
    assert after.stdout.endswith("%j.out")


def test_what_kubernetes_and_machines_say_stays_readable() -> None:
    conditions = [{"type": "GpuXidError", "status": "True", "reason": "ZebraSawXid"}]
    info = {"kernelVersion": "5.15.0-139-zebra", "osImage": "Ubuntu 22.04.5 LTS", "kubeletVersion": "v1.33.4"}
    labels = {
        "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
        "node.kubernetes.io/instance-type": "p5.48xlarge",
    }
    node = {"metadata": {"labels": labels}, "status": {"conditions": conditions, "nodeInfo": info}}
    (found,) = redacted((of(nodes=(node,)),), looked_for())
    (after,) = found.kinds["nodes"]
    assert after["metadata"]["labels"] == labels
    assert after["status"]["nodeInfo"]["osImage"] == "Ubuntu 22.04.5 LTS"
    assert after["status"]["nodeInfo"]["kernelVersion"].startswith("5.15.0-139-zz")
    assert after["status"]["conditions"][0]["type"] == "GpuXidError"
    assert after["status"]["conditions"][0]["reason"].startswith("Zz")


def test_reasons_lose_what_the_server_said() -> None:
    snapshot = Snapshot(
        "kubernetes", "x", NOW, {}, {"pods": Unread(Why.FORBIDDEN, "list pods", 'User "jdoe" cannot')}
    )
    (changed,) = redacted([snapshot], ())
    assert changed.unread == {"pods": Unread(Why.FORBIDDEN, "list pods")}


@given(value=ANYTHING)
def test_whatever_was_read_can_be_redacted(value: Any) -> None:
    (changed,) = redacted([of(pods=(value,))], looked_for())
    assert type(changed.kinds["pods"][0]) is type(value)


@given(words=st.lists(st.text("abcxyz0123456789-.", min_size=1, max_size=12), unique=True, min_size=2))
def test_different_names_stay_different(words: list[str]) -> None:
    nodes = tuple({"metadata": {"name": word}} for word in words)
    (changed,) = redacted([of(nodes=nodes)], ())
    assert len({one["metadata"]["name"] for one in changed.kinds["nodes"]}) == len(words)


def test_a_kind_that_is_nested_too_deeply_is_unread_and_the_others_are_redacted() -> None:
    deep: Any = []
    for _ in range(2000):
        deep = [deep]
    (found,) = redacted((of(pods=({"spec": deep},), nodes=({"type": "Ready"},)),), ())
    assert found.kinds == {"nodes": ({"type": "Ready"},)}
    assert found.unread["pods"] == Unread(Why.MALFORMED, "pods")


@pytest.mark.parametrize(
    "address",
    [
        "2a00:4860:4860:1234:5678:9012:3456:7777",
        "2a00:4860::8888",
        "fd00:1234:5678:9012::/64",
        "12:34:56:78:90:12",
        "10.77.66.55",
    ],
)
@pytest.mark.parametrize("around", ["{}", "[{}]:22", "no answer from {}.", "--to={} at 12:30:45"])
def test_no_address_stays(address: str, around: str) -> None:
    text = around.format(address)
    pod = {"spec": {"args": [text]}, "status": {"message": text, "podIP": text}}
    node = Node("n", ("DOWN",), reason=text)
    slurm = Snapshot("slurm", "s", NOW, {"nodes": (node,)})
    for found in redacted((of(pods=(pod,)), slurm), ()):
        told = str(found.kinds)
        assert not [part for part in re.split(r"[:./]+", address) if len(part) > 2 and part in told]
        assert address not in told
        assert ("12:30:45" in told) == ("12:30:45" in text)


def test_the_size_of_a_long_network_stays() -> None:
    node = {"spec": {"podCIDRs": ["fd00:1234::/64", "fd00:1234:0:1::/64"]}}
    (found,) = redacted((of(nodes=(node,)),), ())
    networks = [ip_network(one) for one in found.kinds["nodes"][0]["spec"]["podCIDRs"]]
    assert [one.prefixlen for one in networks] == [64, 64]
    assert len(set(networks)) == 2


def test_kinds_and_groups_that_somebody_made_are_names() -> None:
    owner = {"apiVersion": "zebra.example/v1", "kind": "ZebraRun", "name": "x"}
    rule = {"apiGroups": ["zebra.example", "apps"], "resources": ["zebraruns", "pods"]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"ownerReferences": [owner]}}
    made = {"binaryData": {"zebra": ""}, "spec": {"csi": {"volumeAttributes": {"zebra": "1"}}}}
    (found,) = redacted((of(pods=(pod, {"rules": [rule]}, made)),), looked_for())
    told = json.dumps(found.kinds)
    assert "zebra" not in told.lower()
    assert found.kinds["pods"][0]["kind"] == "Pod"
    assert "apps" in told
    assert '"pods"]' in told


def test_the_place_of_a_file_that_could_not_be_read_is_not_told() -> None:
    unread = {
        "gres.conf": Unread(Why.FORBIDDEN, "/etc/zebra/gres.conf"),
        "jobs": Unread(Why.TIMEOUT, "squeue --all --json"),
    }
    (found,) = redacted((Snapshot("slurm", "s", NOW, {}, unread),), looked_for())
    assert "zebra" not in found.unread["gres.conf"].what
    assert found.unread["jobs"].what == "squeue --all --json"
