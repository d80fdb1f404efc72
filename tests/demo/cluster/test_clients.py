"""Real clients meet the emulator: the audit itself, kubectl, lightkube, the official one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kubernetes
import pytest
from lightkube import Client, KubeConfig
from lightkube.core.resource_registry import resource_registry
from lightkube.generic_resource import create_global_resource, create_namespaced_resource
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Node, Pod
from tests.demo.cluster.made import OWN, Found, findings, snapshot

from evenpace.collect import dump
from evenpace.collect.kubernetes import live
from evenpace.collect.kubernetes.config import access
from evenpace.collect.kubernetes.kinds import KINDS
from evenpace.demo.cluster.fleet import FEWEST, filled
from evenpace.demo.cluster.gaps import seed, together
from evenpace.demo.cluster.kubeconfig import write
from evenpace.demo.cluster.resources import Resource
from evenpace.demo.cluster.server import Emulator
from evenpace.demo.cluster.store import Store

KUBECTL = shutil.which("kubectl")
needs_kubectl = pytest.mark.skipif(not (KUBECTL or os.environ.get("CI")), reason="kubectl is not installed")
READ = {kind for check in OWN for kind in check.kinds}


@pytest.fixture(scope="module")
def fleet() -> Store:
    """Return a fleet with all gaps that fit together; nothing changes it."""
    store = filled(FEWEST)
    for steps in together().values():
        seed(store, steps)
    return store


@pytest.fixture(scope="module")
def fleet_server(fleet: Store) -> Iterator[Emulator]:
    with Emulator(fleet) as emulator:
        yield emulator


@pytest.fixture(scope="module")
def audited(fleet_server: Emulator, tmp_path_factory: pytest.TempPathFactory) -> Found:
    """Return what the live audit finds in the fleet."""
    config = tmp_path_factory.mktemp("audit") / "config"
    write(config, fleet_server.url)
    return findings(live.read(access(config, None), READ, None))


@pytest.fixture
def config(emulator: Emulator, tmp_path: Path) -> Path:
    """Return a kubeconfig that leads to the small cluster."""
    write(tmp_path / "config", emulator.url)
    return tmp_path / "config"


def test_an_audit_sends_get_alone_and_asks_for_no_secret(fleet: Store, tmp_path: Path) -> None:
    fleet.create("secrets", {"metadata": {"name": "token", "namespace": "ml"}, "data": {"key": "c2VjcmV0"}})
    with Emulator(fleet) as emulator:
        write(tmp_path / "config", emulator.url)
        found = live.read(access(tmp_path / "config", None), set(KINDS), None)
        entries = emulator.log.entries
    assert findings(found) == findings(snapshot(fleet))
    assert len(entries) >= len(KINDS)
    assert {one.method for one in entries} == {"GET"}
    assert {one.verb for one in entries} <= {"", "get", "list", "watch"}
    assert not any("secret" in one.path or "proxy" in one.path for one in entries)


@pytest.fixture
def kubectl(config: Path, tmp_path: Path) -> Callable[..., str]:
    """Return a helper that runs kubectl and returns what it printed."""

    def run(*words: str) -> str:
        environment = {
            "KUBECONFIG": str(config),
            "HOME": str(tmp_path),
            "PATH": "/usr/bin:/bin:/usr/local/bin",
        }
        done = subprocess.run(
            [str(KUBECTL), *words], env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@needs_kubectl
def test_kubectl_takes_a_node_out_and_back(kubectl: Callable[..., str], store: Store) -> None:
    assert "gpu-1   Ready" in kubectl("get", "nodes")
    assert "ml" in kubectl("get", "pods", "--all-namespaces", "--field-selector=spec.nodeName=gpu-1")
    kubectl("cordon", "gpu-1")
    kubectl("taint", "node", "gpu-1", "gpu-fault=xid79:NoExecute")
    assert store.get("nodes", "", "gpu-1")["spec"]["unschedulable"] is True
    assert store.get("nodes", "", "gpu-1")["spec"]["taints"][0]["value"] == "xid79"
    kubectl("drain", "gpu-1", "--force", "--ignore-daemonsets", "--timeout=30s")
    assert store.objects("pods")[0] == []
    kubectl("uncordon", "gpu-1")
    kubectl("label", "node", "gpu-1", "state=mended")
    assert "gpu-1" in kubectl("get", "nodes", "-l", "state=mended", "-o", "name")
    assert "Taints:             gpu-fault=xid79:NoExecute" in kubectl("describe", "node", "gpu-1")


@needs_kubectl
def test_kubectl_makes_and_changes_objects(
    kubectl: Callable[..., str], store: Store, ask: Callable[..., Any], tmp_path: Path
) -> None:
    jobset = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "train", "namespace": "ml"},
        "spec": {"replicatedJobs": []},
    }
    (tmp_path / "jobset.json").write_text(json.dumps(jobset), "utf-8")
    kubectl("create", "--validate=false", "-f", str(tmp_path / "jobset.json"))
    kubectl("patch", "jobset", "train", "-n", "ml", "--type=merge", "-p", '{"spec":{"suspend":true}}')
    assert store.get("jobsets.jobset.x-k8s.io", "ml", "train")["spec"]["suspend"] is True
    status = {"status": {"restarts": 3}}
    if "--subresource" in kubectl("patch", "--help"):  # since 1.24
        patch = ("--type=merge", "--subresource=status", "-p", json.dumps(status))
        kubectl("patch", "jobset", "train", "-n", "ml", *patch)
    else:
        path = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/ml/jobsets/train/status"
        assert ask("PATCH", path, status, Content_Type="application/merge-patch+json")[0] == 200
    assert "Running   3" in kubectl("get", "jobsets", "-n", "ml")
    kubectl("delete", "jobset", "train", "-n", "ml")
    assert store.objects("jobsets.jobset.x-k8s.io")[0] == []


@needs_kubectl
def test_a_dump_by_kubectl_has_the_same_findings(
    fleet: Store, fleet_server: Emulator, audited: Found, tmp_path: Path
) -> None:
    """What `kubectl get … -o json` writes, file by file, is what the live audit reads."""
    write(tmp_path / "config", fleet_server.url)
    environment = {"KUBECONFIG": str(tmp_path / "config"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    folder = tmp_path / "dump"
    folder.mkdir()

    def keep(file: str, *words: str) -> None:
        with (folder / file).open("wb") as out:
            subprocess.run([str(KUBECTL), *words], env=environment, stdout=out, timeout=60, check=True)

    held = {kind for kind in READ if fleet.objects(kind)[0]}
    for kinds in (",".join(sorted(held)), *(READ - held)):  # a mixed list does not tell which kinds are empty
        keep(f"{kinds[:50]}.json", "get", kinds, "--all-namespaces", "-o", "json")
    keep("api-resources.txt", "api-resources", "-o", "name")
    (found,) = dump.read(folder)
    assert findings(found) == audited


def listed(folder: Path, kind: str, objects: list[Any]) -> None:
    """Keep what a client listed as a file of a dump."""
    document = {"apiVersion": "v1", "kind": "List", "items": objects}
    (folder / f"{kind}.json").write_text(json.dumps(document), "utf-8")


def test_lightkube(config: Path, store: Store) -> None:
    client = Client(config=KubeConfig.from_file(config))
    found: Any = client.list(Pod, namespace="ml", labels={"app": "train"}, chunk_size=2)
    assert [one.metadata.name for one in found] == ["train-0", "train-1", "train-2"]
    patched: Any = client.patch(Node, "gpu-1", {"spec": {"unschedulable": True}})
    assert patched.spec.unschedulable
    version = str(store.version)
    eviction = Pod.Eviction(metadata=ObjectMeta(name="train-0", namespace="ml"))
    client.create(eviction, name="train-0", namespace="ml")
    for kind, one in client.watch(Pod, namespace="ml", resource_version=version, server_timeout=5):
        assert (kind, one.metadata.name) == ("DELETED", "train-0")
        break


def modelled(one: Resource) -> Any:
    """Return lightkube's class for a resource: its model where Kubernetes defines it, else a generic one."""
    if one.builtin:
        return resource_registry.load(one.api_version, one.kind)
    make: Any = create_namespaced_resource if one.namespaced else create_global_resource
    return make(one.group, one.version, one.kind, one.plural)


def test_what_lightkube_lists_has_the_same_findings(
    fleet: Store, fleet_server: Emulator, audited: Found, tmp_path: Path
) -> None:
    write(tmp_path / "config", fleet_server.url)
    (tmp_path / "dump").mkdir()
    with Client(config=KubeConfig.from_file(tmp_path / "config")) as client:
        for kind in READ:
            one = fleet.resources[kind]
            everywhere = {"namespace": "*"} if one.namespaced else {}
            every = client.list(modelled(one), chunk_size=50, **everywhere)
            named = {"apiVersion": one.api_version, "kind": one.kind}  # which the items of a list leave out
            listed(tmp_path / "dump", kind, [{**each.to_dict(), **named} for each in every])
    (found,) = dump.read(tmp_path / "dump")
    assert findings(found) == audited


def test_what_the_official_client_lists_has_the_same_findings(
    fleet: Store, fleet_server: Emulator, audited: Found, tmp_path: Path
) -> None:
    configuration = kubernetes.client.Configuration()
    configuration.host = fleet_server.url
    with kubernetes.client.ApiClient(configuration) as api:
        dynamic = kubernetes.dynamic.DynamicClient(api)
        for kind in READ:
            one = fleet.resources[kind]
            resource = dynamic.resources.get(api_version=one.api_version, kind=one.kind, name=one.plural)
            listed(tmp_path, kind, resource.get().to_dict()["items"])
    (found,) = dump.read(tmp_path)
    assert findings(found) == audited


def test_the_official_client(emulator: Emulator, store: Store) -> None:
    configuration = kubernetes.client.Configuration()
    configuration.host = emulator.url
    with kubernetes.client.ApiClient(configuration) as api:
        core = kubernetes.client.CoreV1Api(api)
        assert [one.metadata.name for one in core.list_node().items] == ["gpu-1", "gpu-2"]
        page = core.list_namespaced_pod("ml", limit=2)
        assert page.metadata.remaining_item_count == 1
        core.patch_node("gpu-1", {"spec": {"unschedulable": True}})
        version = str(store.version)
        eviction = kubernetes.client.V1Eviction(
            metadata=kubernetes.client.V1ObjectMeta(name="train-0", namespace="ml")
        )
        core.create_namespaced_pod_eviction("train-0", "ml", eviction)
        watch = kubernetes.watch.Watch()
        for event in watch.stream(
            core.list_namespaced_pod, "ml", resource_version=version, timeout_seconds=5
        ):
            assert (event["type"], event["object"].metadata.name) == ("DELETED", "train-0")
            watch.stop()
        dynamic = kubernetes.dynamic.DynamicClient(api)
        jobsets = dynamic.resources.get(api_version="jobset.x-k8s.io/v1alpha2", kind="JobSet")
        assert jobsets.get(namespace="ml").items == []
