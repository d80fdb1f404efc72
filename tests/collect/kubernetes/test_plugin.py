"""Plug-ins for credentials: what they are told and give; none can hang, fill the memory or live on."""

from __future__ import annotations

import ast
import json
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.collect.kubernetes.scripted import Answer, Scripted, discovery, kubeconfig, said

import evenpace
from evenpace.collect.kubernetes import plugin
from evenpace.collect.kubernetes.config import Access, access
from evenpace.collect.kubernetes.live import read
from evenpace.collect.kubernetes.plugin import signed_in
from evenpace.collect.kubernetes.transport import Limits
from evenpace.errors import Problem

SOURCE = Path(evenpace.__file__).parent
Made = Callable[..., Access]


def program(folder: Path, code: str, shell: str = sys.executable) -> str:
    path = folder / "plug-in"
    path.write_text(f"#!{shell}\n{code}\n", "utf-8")
    path.chmod(0o700)
    return "./plug-in"


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Return a function that makes the access of a user with a plug-in of that code."""

    def make(code: str, shell: str = sys.executable, server: str = "https://x", **more: Any) -> Access:
        asked = {"apiVersion": "client.authentication.k8s.io/v1", "command": program(tmp_path, code, shell)}
        file = tmp_path / "config"
        file.write_text(kubeconfig(server, {"exec": asked | more}), "utf-8")
        return access(file)

    return make


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_it_gives_the_token_and_is_told_what_is_asked(made: Made, version: str) -> None:
    code = (
        "import json, os, sys\n"
        "asked = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "token = asked['apiVersion'].replace('/', '-') + os.environ['MORE'] + sys.argv[1]\n"
        "print(json.dumps({'status': {'token': token}}))"
    )
    named = f"client.authentication.k8s.io/{version}"

    def script(path: str, _: dict[str, str]) -> Answer:
        return discovery(path) or said({"items": []})

    with Scripted(script) as server:
        asked = made(
            code, server=server.url, apiVersion=named, args=["-a"], env=[{"name": "MORE", "value": "-m"}]
        )
        read(asked, ("nodes",), None, Limits(silence=5.0))
    assert {one.get("authorization") for one in server.headers} == {f"Bearer {named.replace('/', '-')}-m-a"}


def test_it_is_run_once_an_audit(made: Made, tmp_path: Path) -> None:
    code = f"echo >>{tmp_path}/runs; echo '{json.dumps({'status': {'token': 't'}})}'"
    with Scripted(lambda path, _: discovery(path) or said({"items": []})) as server:
        read(made(code, "/bin/sh", server.url), ("nodes", "pods"), None, Limits(silence=5.0))
    assert (tmp_path / "runs").read_text("utf-8") == "\n"


def test_a_certificate_is_handed_on(made: Made) -> None:
    status = {"clientCertificateData": "CRT", "clientKeyData": "KEY"}
    user = signed_in(made(f"print({json.dumps({'status': status})!r})")).config.user
    assert (user.token, user.client_cert_data, user.client_key_data) == (None, "Q1JU", "S0VZ")


def test_a_token_of_the_user_goes_before_it(tmp_path: Path) -> None:
    asked = {"apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-plug-in"}
    (tmp_path / "config").write_text(kubeconfig("https://x", {"token": "t", "exec": asked}), "utf-8")
    assert signed_in(access(tmp_path / "config")).config.user.token == "t"  # noqa: S105


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import sys; sys.exit('login first')", "ended with 1: login first"),
        ("import os; os.kill(os.getpid(), 9)", "ended with -9;"),
        ("print('no json')", "printed no JSON"),
        ("print('{}')", "printed no ExecCredential"),
        ("print('[]')", "printed no ExecCredential"),
        ("print('[' * 200_000)", "printed no JSON"),
        ('print(\'{"status": {"clientCertificateData": "a"}}\')', "a certificate and its key"),
        ("import sys; sys.stderr.write('x' * 9_000_000); sys.exit(3)", "ended with 3: xxx"),
    ],
)
def test_one_that_fails_is_one_line_that_says_what_to_do(made: Made, code: str, told: str) -> None:
    with pytest.raises(Problem) as problem:
        signed_in(made(code))
    line = str(problem.value)
    assert "plug-in' of the context 'it' " in line
    assert told in line
    assert line.endswith("see that `kubectl --context it get --raw /version` answers, then audit again")
    assert len(line.splitlines()) == 1
    assert len(line) < 600


def test_one_that_is_not_installed_says_how_to_install_it(made: Made) -> None:
    with pytest.raises(Problem, match=r"no-such-plug-in.* cannot be run: .*; get it\n? from there"):
        signed_in(made("", command="no-such-plug-in", installHint="get it\nfrom there"))


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"interactiveMode": "Always"}, "wants to be answered"),
        ({"apiVersion": "client.authentication.k8s.io/v9"}, "k8s.io/v9"),
        ({"args": "a"}, "is not well described"),
        ({"env": [{"name": "a"}]}, "is not well described"),
        ({"args": ["a\0b"]}, "cannot be run"),
    ],
)
def test_one_that_cannot_be_asked_is_one_line(made: Made, more: dict[str, Any], told: str) -> None:
    with pytest.raises(Problem, match=told):
        signed_in(made("print(1)", **more))


def test_one_that_prints_without_end_is_cut_and_takes_no_memory(made: Made) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(Problem, match="printed more than 1 MiB"):
        signed_in(made("exec yes", "/bin/sh"))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10  # KiB


def ended(pid: int) -> bool:
    """Tell whether a process has ended: it is gone, or nobody has asked for its end yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


@pytest.mark.parametrize("ending", ["wait", "exec >/dev/null 2>&1; wait"])
def test_one_that_hangs_is_ended_with_what_it_started(made: Made, tmp_path: Path, ending: str) -> None:
    code = f"sleep 600 & echo $$ $! >{tmp_path}/pids; {ending}"
    with pytest.raises(Problem, match=r"did not end within 1 s"):
        signed_in(made(code, "/bin/sh"), limit=1.0)
    pids = [int(one) for one in (tmp_path / "pids").read_text("utf-8").split()]
    assert len(pids) == 2
    deadline = os.times().elapsed + 10
    while not all(map(ended, pids)):
        assert os.times().elapsed < deadline


def test_the_time_is_30_s_or_what_the_whole_audit_has(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def answer(plug_in: object, limit: float, environ: object) -> plugin.Credential:
        asked.append(limit)
        return plugin.Credential("t")

    monkeypatch.setattr(plugin, "_asked", answer)
    signed_in(made(""), 300.0)
    signed_in(made(""), 7.0)
    assert asked == [30.0, 7.0]


def test_the_loader_has_nothing_to_run(made: Made) -> None:
    """lightkube would run a plug-in without limits: it never learns of one."""
    found = made("print(1)")
    assert found.plug_in
    assert found.config.user.exec is None


def test_a_process_is_started_in_one_place_without_a_shell() -> None:
    code = ast.parse(Path(plugin.__file__).read_text("utf-8"))
    used = [node for node in ast.walk(code) if isinstance(node, ast.Attribute)]
    calls = [node for node in ast.walk(code) if isinstance(node, ast.Call) and node.func in used]
    started = [one for one in calls if ast.unparse(one.func).startswith("subprocess.")]
    assert [ast.unparse(one.func) for one in started] == ["subprocess.Popen"]
    assert ast.unparse(started[0].args[0]) == "(known.command, *(known.args or ()))"
    assert {one.arg for one in started[0].keywords} == {
        "stdin",
        "stdout",
        "stderr",
        "env",
        "start_new_session",
    }
    ending = [one for one in calls if "kill" in ast.unparse(one.func)]
    assert [ast.unparse(one) for one in ending] == ["os.killpg(process.pid, signal.SIGKILL)"]
