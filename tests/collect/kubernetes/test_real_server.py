"""A real kube-apiserver gives the findings that the emulator gives, where its binary is at hand.

$KUBEBUILDER_ASSETS names a folder with `etcd` and `kube-apiserver`, as setup-envtest makes it.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.collect.kubernetes.scripted import kubeconfig

from evenpace.checks.catalogue import checks
from evenpace.checks.running import run_all
from evenpace.collect.kubernetes.config import access
from evenpace.collect.kubernetes.live import read
from evenpace.collect.snapshot import Snapshot
from evenpace.demo.cluster.server import Emulator
from evenpace.demo.cluster.store import Store

ASSETS = Path(os.environ.get("KUBEBUILDER_ASSETS", "/usr/local/kubebuilder/bin"))
KINDS = ("nodes", "jobs.batch", "poddisruptionbudgets.policy")
TOKEN = "of-this-test"  # noqa: S105  a server on loopback, for as long as the test
GPUS = {"nvidia.com/gpu": "8", "cpu": "96", "memory": "1Ti", "pods": "110"}
POD = {
    "restartPolicy": "Never",
    "containers": [
        {
            "name": "train",
            "image": "train:1",
            "resources": {"limits": {"nvidia.com/gpu": "8"}, "requests": {"nvidia.com/gpu": "8"}},
        }
    ],
}
NODES = [
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"gpu-{one}"},
        "spec": {"unschedulable": one == 1},
    }
    for one in range(3)
]
STATUS = {"capacity": GPUS, "allocatable": GPUS}
JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train", "namespace": "default"},
    "spec": {"backoffLimit": 0, "parallelism": 2, "completions": 2, "template": {"spec": POD}},
}
BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "all", "namespace": "default"},
    "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "train"}}},
}

pytestmark = pytest.mark.skipif(
    not (ASSETS / "kube-apiserver").exists(), reason="KUBEBUILDER_ASSETS names no kube-apiserver"
)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start etcd and kube-apiserver on loopback, and return the server's address."""
    folder = tmp_path_factory.mktemp("server")
    etcd, peer, port = free_port(), free_port(), free_port()
    (folder / "tokens.csv").write_text(f"{TOKEN},admin,admin,system:masters\n", "utf-8")
    openssl = shutil.which("openssl") or pytest.skip("openssl is not installed")
    subprocess.run([openssl, "genrsa", "-out", folder / "sa.key", "2048"], check=True, capture_output=True)
    commands = (
        [
            ASSETS / "etcd",
            f"--data-dir={folder / 'etcd'}",
            f"--listen-client-urls=http://127.0.0.1:{etcd}",
            f"--advertise-client-urls=http://127.0.0.1:{etcd}",
            f"--listen-peer-urls=http://127.0.0.1:{peer}",
        ],
        [
            ASSETS / "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{etcd}",
            f"--cert-dir={folder / 'pki'}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={port}",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--authorization-mode=RBAC",
            f"--token-auth-file={folder / 'tokens.csv'}",
            "--service-account-issuer=https://127.0.0.1",
            f"--service-account-key-file={folder / 'sa.key'}",
            f"--service-account-signing-key-file={folder / 'sa.key'}",
            "--disable-admission-plugins=ServiceAccount",
            "--endpoint-reconciler-type=none",
        ],
    )
    with (folder / "log").open("wb") as log:
        running = [subprocess.Popen(command, stdout=log, stderr=log) for command in commands]
        try:
            ready(f"https://127.0.0.1:{port}", folder / "log")
            yield f"https://127.0.0.1:{port}"
        finally:
            for process in reversed(running):
                process.terminate()
                process.wait(30)


def ready(url: str, log: Path) -> None:
    """Wait until a server answers that it is ready."""
    end = time.monotonic() + 60
    with client(url) as asking:
        while time.monotonic() < end:
            try:
                if asking.get("/readyz").status_code == 200:
                    return
            except httpx2.TransportError:
                pass
            time.sleep(0.1)
    pytest.fail(f"not ready: {log.read_text('utf-8', 'replace')[-2000:]}")


def client(url: str) -> httpx2.Client:
    """Return a client with all rights, of the test alone."""
    return httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {TOKEN}"}, verify=False)


def filled(url: str) -> None:
    """Make the same objects, with gaps, in a server."""
    with client(url) as making:
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
        assert making.post("/api/v1/namespaces", json=space).status_code in (201, 409)
        for node in NODES:
            made = making.post("/api/v1/nodes", json=node).raise_for_status().json()
            path = f"/api/v1/nodes/{made['metadata']['name']}/status"
            making.put(path, json={**made, "status": STATUS}).raise_for_status()
        making.post("/apis/batch/v1/namespaces/default/jobs", json=JOB).raise_for_status()
        budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
        making.post(budgets, json=BUDGET).raise_for_status()


def read_from(url: str, folder: Path) -> Snapshot:
    filled(url)
    file = folder / "config"
    text = kubeconfig(url, {"token": TOKEN}, {"insecure-skip-tls-verify": True})
    file.write_text(text, "utf-8")
    return read(access(file), KINDS)


def said(snapshot: Snapshot) -> list[tuple[Any, ...]]:
    """Return what each check says that needs nothing beyond KINDS."""
    chosen = [check for check in checks().values() if set(check.needs) | set(check.if_served) <= set(KINDS)]
    return [
        (result.check.id, result.outcome, [gap.subject for gap in result.gaps], result.error)
        for result in run_all([snapshot], chosen)
    ]


def test_the_findings_are_those_of_the_emulator(server: str, tmp_path: Path) -> None:
    with Emulator(Store()) as emulator:
        emulated = read_from(emulator.url, tmp_path)
    real = read_from(server, tmp_path)
    assert {kind: len(found) for kind, found in real.kinds.items()} == dict(
        zip(KINDS, (3, 1, 1), strict=True)
    )
    assert said(real) == said(emulated)
    assert any(gaps for _, _, gaps, _ in said(real))
