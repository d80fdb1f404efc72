"""Certificates of a kubeconfig: the server's authority, the client's own, and a name beside the address."""

from __future__ import annotations

import base64
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.collect.kubernetes.scripted import Scripted, discovery, kubeconfig, said

from evenpace.collect.kubernetes.config import access
from evenpace.collect.kubernetes.live import read
from evenpace.collect.kubernetes.transport import Limits
from evenpace.errors import Problem

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
NAME = "kube.example"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with `tls.crt` and `tls.key`: one certificate, its own authority, for NAME."""
    folder = tmp_path_factory.mktemp("tls")
    key, crt = str(folder / "tls.key"), str(folder / "tls.crt")
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
    ]
    command += ["-keyout", key, "-out", crt, "-days", "3650", "-subj", f"/CN={NAME}"]
    command += ["-addext", f"subjectAltName=DNS:{NAME}"]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture
def server(certificate: Path) -> Iterator[Scripted]:
    """Serve over TLS, to clients with that certificate alone."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificate / "tls.crt"))
    context.load_cert_chain(certificate / "tls.crt", certificate / "tls.key")
    context.verify_mode = ssl.CERT_REQUIRED
    with Scripted(lambda path, _: discovery(path) or said({"items": []}), context) as server:
        yield server


def written(path: Path, server: str, cluster: dict[str, Any], user: dict[str, Any]) -> Path:
    """Write a kubeconfig of one context."""
    path.write_text(kubeconfig(server, user, cluster), "utf-8")
    return path


def nodes(path: Path) -> Any:
    return read(access(path), ("nodes",), None, Limits(silence=5.0)).kinds["nodes"]


def test_certificates_are_used_from_files_beside_the_written(server: Scripted, certificate: Path) -> None:
    cluster = {"certificate-authority": "tls.crt", "tls-server-name": NAME}
    user = {"client-certificate": "tls.crt", "client-key": "tls.key"}
    assert nodes(written(certificate / "files", server.url, cluster, user)) == ()


def test_certificates_are_used_from_within_the_written(
    server: Scripted, certificate: Path, tmp_path: Path
) -> None:
    crt, key = (
        base64.b64encode((certificate / f"tls.{one}").read_bytes()).decode() for one in ("crt", "key")
    )
    cluster = {"certificate-authority-data": crt, "tls-server-name": NAME}
    user = {"client-certificate-data": crt, "client-key-data": key}
    assert nodes(written(tmp_path / "within", server.url, cluster, user)) == ()


@pytest.mark.parametrize(
    "cluster",
    [{}, {"certificate-authority": "tls.crt"}, {"certificate-authority": "none.crt"}],
    ids=["unknown authority", "another name", "no such file"],
)
def test_a_server_that_cannot_prove_itself_is_one_clear_line(
    server: Scripted, certificate: Path, cluster: dict[str, Any]
) -> None:
    user = {"client-certificate": "tls.crt", "client-key": "tls.key"}
    with pytest.raises(Problem):
        nodes(written(certificate / "bad", server.url, cluster, user))


def test_a_client_without_a_certificate_is_one_clear_line(server: Scripted, certificate: Path) -> None:
    cluster = {"certificate-authority": "tls.crt", "tls-server-name": NAME}
    with pytest.raises(Problem):
        nodes(written(certificate / "none", server.url, cluster, {}))
