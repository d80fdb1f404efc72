"""Start a real etcd and kube-apiserver on loopback, and write into them with all rights."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

ASSETS = Path(os.environ.get("KUBEBUILDER_ASSETS", "/usr/local/kubebuilder/bin"))
TOKEN = "of-this-test"  # noqa: S105  a server on loopback, for as long as the test
POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}


@dataclass(frozen=True, slots=True)
class Real:
    """Hold a running server: its address, and the file in which it writes every request down."""

    url: str
    log: Path

    def asked(self, user: str) -> list[dict[str, Any]]:
        """Return the requests of a user, as the server wrote them down."""
        events = map(json.loads, self.log.read_text("utf-8").splitlines())
        return [event for event in events if event["user"].get("username") == user]


def client(url: str, token: str = TOKEN) -> httpx2.Client:
    """Return a client of a server; with all rights where no token is named."""
    return httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, verify=False)


@contextmanager
def started(folder: Path) -> Iterator[Real]:
    """Run both on loopback, with what they keep and write in a folder, and end them."""
    etcd, peer, port = free_port(), free_port(), free_port()
    (folder / "tokens.csv").write_text(f"{TOKEN},admin,admin,system:masters\n", "utf-8")
    (folder / "policy.json").write_text(json.dumps(POLICY), "utf-8")
    openssl = shutil.which("openssl") or pytest.skip("openssl is not installed")
    subprocess.run([openssl, "genrsa", "-out", folder / "sa.key", "2048"], check=True, capture_output=True)
    commands = (store(folder, etcd, peer), server(folder, etcd, port))
    with ExitStack() as running:
        log = running.enter_context((folder / "log").open("wb"))
        for command in commands:
            process = subprocess.Popen(command, stdout=log, stderr=log)
            running.callback(process.wait, 30)
            running.callback(process.terminate)
        ready(f"https://127.0.0.1:{port}", folder / "log")
        yield Real(f"https://127.0.0.1:{port}", folder / "audit.log")


def store(folder: Path, etcd: int, peer: int) -> list[str]:
    """Return the command of etcd."""
    return [
        str(ASSETS / "etcd"),
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls=http://127.0.0.1:{etcd}",
        f"--advertise-client-urls=http://127.0.0.1:{etcd}",
        f"--listen-peer-urls=http://127.0.0.1:{peer}",
    ]


def server(folder: Path, etcd: int, port: int) -> list[str]:
    """Return the command of kube-apiserver: RBAC decides, and every request is written down."""
    return [
        str(ASSETS / "kube-apiserver"),
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
        f"--audit-policy-file={folder / 'policy.json'}",
        f"--audit-log-path={folder / 'audit.log'}",
    ]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


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
