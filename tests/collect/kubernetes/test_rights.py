"""The manifest gives the rights that an audit uses, and no other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.collect.kubernetes.scripted import kubeconfig

from evenpace.collect.kubernetes.config import access
from evenpace.collect.kubernetes.kinds import ANYWHERE, GROUPS, KINDS, OF_USERS
from evenpace.collect.kubernetes.live import read
from evenpace.collect.snapshot import Why
from evenpace.demo.cluster.fleet import filled
from evenpace.demo.cluster.server import Emulator


@pytest.fixture
def documents(repository: Path) -> dict[str, dict[str, Any]]:
    """Return the manifest's documents by kind."""
    text = (repository / "deploy" / "kubernetes" / "audit-rbac.yaml").read_text("utf-8")
    return {one["kind"]: one for one in yaml.safe_load_all(text)}


def test_the_manifest_is_up_to_date(repository: Path) -> None:
    command = [sys.executable, str(repository / "scripts" / "generate_rbac.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_reads_and_nothing_else(documents: dict[str, dict[str, Any]]) -> None:
    assert set(documents) == {"Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding"}
    for rule in documents["ClusterRole"]["rules"]:
        assert set(rule) <= {"apiGroups", "resources", "resourceNames", "verbs"}
        assert set(rule["verbs"]) <= {"get", "list", "watch"}
        named = {*rule["apiGroups"], *rule["resources"]}
        assert not any("*" in one or "/" in one or one == "secrets" for one in named)
        assert "configmaps" not in rule["resources"] or rule["resourceNames"]


def test_each_kind_that_is_read_is_in_it(documents: dict[str, dict[str, Any]]) -> None:
    given = {
        f"{resource}.{group}".rstrip(".")
        for rule in documents["ClusterRole"]["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    assert given == set(KINDS)


def test_an_audit_needs_no_right_beyond_it(documents: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    """The emulated server gives the manifest's rights alone, and nothing is refused."""
    rights = {
        (verb, f"{resource}.{group}".rstrip("."))
        for rule in documents["ClusterRole"]["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    file = tmp_path / "config"
    with Emulator(filled(), may=lambda verb, resource: (verb, resource) in rights) as emulator:
        file.write_text(kubeconfig(emulator.url, user={}), "utf-8")
        snapshot = read(access(file), KINDS)
    assert {kind for kind, one in snapshot.unread.items() if one.why is not Why.ABSENT} == set()
    assert {"nodes", "pods", "configmaps"} <= snapshot.kinds.keys()


def test_what_is_known_of_kinds_names_kinds() -> None:
    assert KINDS.keys() >= OF_USERS
    assert set(GROUPS["workloads"]) <= ANYWHERE <= OF_USERS
    assert all(KINDS[name].namespaced for name in OF_USERS)
