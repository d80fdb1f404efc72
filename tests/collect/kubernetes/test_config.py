from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.collect.kubernetes.scripted import Answer, Scripted, discovery, kubeconfig, said

from evenpace.collect.kubernetes.config import access, configured
from evenpace.collect.kubernetes.live import read
from evenpace.collect.kubernetes.transport import Limits
from evenpace.errors import Problem

ENTRY = {"server": "https://one:6443"}


def written(path: Path, **parts: Any) -> Path:
    path.write_text(yaml.safe_dump(parts), "utf-8")
    return path


def one(name: str, user: str = "") -> dict[str, Any]:
    """Return a kubeconfig of one context and its cluster."""
    return {
        "current-context": name,
        "contexts": [{"name": name, "context": {"cluster": name, "user": user}}],
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}"}}],
    }


def test_the_current_context_is_meant_unless_another_is_named(tmp_path: Path) -> None:
    parts = one("a")
    parts["contexts"].append({"name": "b", "context": {"cluster": "a"}})
    file = written(tmp_path / "config", **parts)
    assert access(file).name == "a"
    assert access(file, "b").name == "b"
    with pytest.raises(Problem, match=r"no context 'c' in .*; there are: a, b"):
        access(file, "c")


def test_several_files_are_one_and_each_names_its_files_from_itself(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    (second / "t").write_text("s3", "utf-8")
    written(first / "config", **{"current-context": "b", "contexts": None, "clusters": []})
    users = [{"name": "me", "user": {"tokenFile": "t"}}]
    written(second / "config", **one("b", "me"), users=users)
    named = {"KUBECONFIG": os.pathsep.join(map(str, (first / "config", second / "config", tmp_path / "no")))}
    found = access(environ=named)
    assert (found.name, found.config.cluster.server) == ("b", "https://b")
    assert found.config.user.token_file == str(second / "t")
    assert configured(named)


def test_without_kubeconfig_the_account_of_the_pod_is_used(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t", "utf-8")
    (tmp_path / "namespace").write_text("ml", "utf-8")
    environ = {
        "KUBECONFIG": str(tmp_path / "none"),
        "KUBERNETES_SERVICE_HOST": "10.0.0.1",
        "KUBERNETES_SERVICE_PORT": "443",
    }
    with pytest.MonkeyPatch.context() as patch:
        for key, value in environ.items():
            patch.setenv(key, value)
        found = access(environ=environ, account=tmp_path)
    assert (found.name, found.config.cluster.server) == ("in-cluster", "https://10.0.0.1:443")


def test_neither_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(Problem, match=r"no kubeconfig at .*--kubeconfig"):
        access(environ={"KUBECONFIG": str(tmp_path / "none")})


@pytest.mark.parametrize(
    "content",
    ["", "[]", "a: [", "current-context: x", "contexts: 3", "\x00", "a: &a [*a]", "current-context: [1]"],
)
def test_a_file_that_is_no_kubeconfig_is_one_clear_line(tmp_path: Path, content: str) -> None:
    file = tmp_path / "config"
    file.write_text(content, "utf-8")
    with pytest.raises(Problem):
        access(file)


def test_parts_that_are_wrong_are_one_clear_line(tmp_path: Path) -> None:
    file = written(tmp_path / "a", **one("a") | {"clusters": []})
    with pytest.raises(Problem, match="names a cluster that is not there"):
        access(file)
    file = written(tmp_path / "b", **one("a") | {"clusters": [{"name": "a", "cluster": {"server": 3}}]})
    with pytest.raises(Problem, match="cannot be used"):
        access(file)


TREES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "exec"]), inner),
    max_leaves=6,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    context=TREES, cluster=TREES, user=TREES, extra=st.dictionaries(st.sampled_from(["as", "exec"]), TREES)
)
def test_whatever_a_kubeconfig_holds_it_is_used_or_a_problem(
    tmp_path: Path, context: Any, cluster: Any, user: Any, extra: Any
) -> None:
    parts = one("a", "u") | {
        "users": [{"name": "u", "user": {**(user if isinstance(user, dict) else {}), **extra}}],
        "extra": [context, cluster],
    }
    with contextlib.suppress(Problem):
        assert access(written(tmp_path / "config", **parts)).name == "a"


def asked_with(tmp_path: Path, user: dict[str, Any], whole: float = 60.0) -> dict[str, str]:
    """Return the headers that a server gets from a user."""

    def script(path: str, _: dict[str, str]) -> Answer:
        return discovery(path) or said({"items": []})

    file = tmp_path / "config"
    with Scripted(script) as server:
        file.write_text(kubeconfig(server.url, user), "utf-8")
        read(access(file), ("nodes",), None, Limits(silence=5.0, whole=whole))
    return server.headers[-1]


@pytest.mark.parametrize(
    ("user", "header"),
    [
        ({"token": "abc"}, "Bearer abc"),
        ({"username": "u", "password": "p"}, "Basic dTpw"),
        ({"auth-provider": {"name": "oidc", "config": {"id-token": "jwt"}}}, "Bearer jwt"),
    ],
)
def test_credentials_of_a_user_are_sent(tmp_path: Path, user: dict[str, Any], header: str) -> None:
    assert asked_with(tmp_path, user)["authorization"] == header


def test_acting_as_another_is_kept(tmp_path: Path) -> None:
    headers = asked_with(tmp_path, {"token": "t", "as": "auditor", "as-groups": ["readers"]})
    assert (headers["impersonate-user"], headers["impersonate-group"]) == ("auditor", "readers")
    with pytest.raises(Problem, match="several groups"):
        asked_with(tmp_path, {"as": "auditor", "as-groups": ["a", "b"]})
