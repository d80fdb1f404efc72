"""A real kube-apiserver: the emulator's findings, the account's rights, pages; where its binary is at hand.

$KUBEBUILDER_ASSETS names a folder with `etcd` and `kube-apiserver`, as setup-envtest makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.collect.kubernetes.real import ASSETS, TOKEN, Real, client, started
from tests.collect.kubernetes.scripted import kubeconfig

from evenpace.checks.catalogue import checks
from evenpace.checks.running import run_all
from evenpace.collect.kubernetes import live
from evenpace.collect.kubernetes.config import access
from evenpace.collect.kubernetes.kinds import KINDS
from evenpace.collect.snapshot import Snapshot, Why
from evenpace.demo.cluster.resources import RESOURCES
from evenpace.demo.cluster.server import Emulator
from evenpace.demo.cluster.store import Store
from evenpace.errors import Problem

MADE = ("nodes", "jobs.batch", "poddisruptionbudgets.policy")
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
NAME = "evenpace-audit"
ACCOUNT, STRANGER = (f"system:serviceaccount:{NAME}:{name}" for name in (NAME, "stranger"))
READING, WRITING = {"get", "list", "watch"}, {"create", "update", "patch", "delete", "deletecollection"}
OWN = {kind.name for kind in RESOURCES if kind.builtin} & KINDS.keys()  # of Kubernetes itself

pytestmark = pytest.mark.skipif(
    not all((ASSETS / name).exists() for name in ("etcd", "kube-apiserver")),
    reason="KUBEBUILDER_ASSETS names no etcd and kube-apiserver",
)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    """Return a real server with the test's objects."""
    with started(tmp_path_factory.mktemp("server")) as server:
        filled(server.url)
        yield server


@pytest.fixture(scope="module")
def account(real: Real, repository: Path) -> str:
    """Apply the manifest for the audit, and return a token of its account."""
    manifest = (repository / "deploy/kubernetes/audit-rbac.yaml").read_text("utf-8")
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    paths = {
        "Namespace": "/api/v1/namespaces",
        "ServiceAccount": f"/api/v1/namespaces/{NAME}/serviceaccounts",
        "ClusterRole": f"{rbac}/clusterroles",
        "ClusterRoleBinding": f"{rbac}/clusterrolebindings",
    }
    with client(real.url) as making:
        for one in yaml.safe_load_all(manifest):
            making.post(paths[one["kind"]], json=one).raise_for_status()
    return token(real.url, NAME)


def token(url: str, name: str) -> str:
    """Return what `kubectl create token` gives for an account of the audit's namespace."""
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = f"/api/v1/namespaces/{NAME}/serviceaccounts/{name}/token"
    with client(url) as making:
        return str(making.post(path, json=asked).raise_for_status().json()["status"]["token"])


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


def read(url: str, folder: Path, bearer: str = TOKEN, kinds: Collection[str] = MADE) -> Snapshot:
    file = folder / "config"
    file.write_text(kubeconfig(url, {"token": bearer}, {"insecure-skip-tls-verify": True}), "utf-8")
    return live.read(access(file), kinds)


def said(snapshot: Snapshot) -> list[tuple[Any, ...]]:
    """Return what each check says that needs nothing beyond MADE."""
    chosen = [check for check in checks().values() if set(check.needs) | set(check.if_served) <= set(MADE)]
    return [
        (result.check.id, result.outcome, [gap.subject for gap in result.gaps], result.error)
        for result in run_all([snapshot], chosen)
    ]


def test_the_findings_are_those_of_the_emulator(
    real: Real, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Emulator(Store()) as emulator:
        filled(emulator.url)
        emulated = read(emulator.url, tmp_path)
    whole = read(real.url, tmp_path)
    assert {kind: len(found) for kind, found in whole.kinds.items()} == dict(
        zip(MADE, (3, 1, 1), strict=True)
    )
    assert said(whole) == said(emulated)
    assert any(gaps for _, _, gaps, _ in said(whole))
    monkeypatch.setattr(live, "PAGE", 2)
    assert read(real.url, tmp_path).kinds == whole.kinds
    assert any("continue=" in one["requestURI"] for one in real.asked("admin"))


def test_the_account_reads_all_that_there_is_and_sends_get(
    real: Real, account: str, tmp_path: Path, eventually: Callable[..., None]
) -> None:
    with client(real.url, account) as asking:
        eventually(lambda: asking.get("/api/v1/nodes").status_code == 200, what="the right to list nodes")
        assert asking.get("/api/v1/secrets").status_code == 403
    found = read(real.url, tmp_path, account, KINDS)
    assert {one.why for one in found.unread.values()} == {Why.ABSENT}
    assert OWN - found.kinds.keys() <= {"resourceslices.resource.k8s.io"}  # served since 1.34
    requests = [one for one in real.asked(ACCOUNT) if one["userAgent"].startswith("evenpace")]
    assert len(requests) >= len(found.kinds)
    assert {one["verb"] for one in requests} <= {"get", "list"}
    assert {one["responseStatus"]["code"] for one in requests} <= {200, 404}


def test_without_rights_each_kind_is_forbidden_and_without_a_name_nothing_is_read(
    real: Real, account: str, tmp_path: Path
) -> None:
    stranger = {"metadata": {"name": "stranger"}}
    with client(real.url) as making:
        making.post(f"/api/v1/namespaces/{NAME}/serviceaccounts", json=stranger).raise_for_status()
    found = read(real.url, tmp_path, token(real.url, "stranger"))
    assert not found.kinds
    assert {(one.why, one.what) for one in found.unread.values()} == {
        (Why.FORBIDDEN, f"list {kind}") for kind in MADE
    }
    with pytest.raises(Problem, match="log in again"):
        read(real.url, tmp_path, "of nobody")


def test_the_account_has_these_rights_and_no_others(real: Real, account: str) -> None:
    """The server's own authorizer is asked for each verb of each resource that it has or the audit reads."""
    with client(real.url) as asking:
        resources = served(asking) | {(kind.group, kind.plural) for kind in KINDS.values()}
        verbs = READING | WRITING | {"impersonate", "bind", "escalate", "approve", "sign"}
        rights = {
            (group, resource, verb)
            for group, resource in resources
            for verb in verbs
            if may(asking, ACCOUNT, group=group, resource=resource, verb=verb)
            and not may(asking, STRANGER, group=group, resource=resource, verb=verb)
        }
        open_kinds = [kind for kind in KINDS.values() if not kind.only]
        assert rights == {(kind.group, kind.plural, verb) for kind in open_kinds for verb in READING}
        for kind in KINDS.values():
            for namespace, name in kind.only:
                one = {"group": kind.group, "resource": kind.plural, "namespace": namespace}
                assert may(asking, ACCOUNT, **one, name=name, verb="get")
                assert not any(may(asking, ACCOUNT, **one, name=name, verb=verb) for verb in WRITING)
                assert not may(asking, ACCOUNT, **one, name="another", verb="get")


def served(asking: Any) -> set[tuple[str, str]]:
    """Return (group, resource) of all that a server has, subresources too."""
    groups = asking.get("/apis").raise_for_status().json()["groups"]
    versions = [each["groupVersion"] for group in groups for each in group["versions"]]
    found = set()
    for path in ("/api/v1", *(f"/apis/{version}" for version in versions)):
        group = path.removeprefix("/apis/").partition("/")[0] if path != "/api/v1" else ""
        listed = asking.get(path).raise_for_status().json()["resources"]
        found |= {(group, one["name"]) for one in listed}
    return found


def may(asking: Any, user: str, **what: str) -> bool:
    """Ask the authorizer for an account of a service."""
    who = {"user": user, "groups": ["system:serviceaccounts", "system:authenticated"]}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {**who, "resourceAttributes": what},
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    return bool(asking.post(path, json=review).raise_for_status().json()["status"]["allowed"])
