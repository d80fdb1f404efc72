"""`evenpace audit` on a server that answers on loopback, and what it keeps of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.collect.kubernetes.scripted import Answer, Scripted, discovery, kubeconfig, said

from evenpace.checks.catalogue import find
from evenpace.cli import cli, execute

CHECK = ["--check", "jobset_no_restarts"]


@pytest.fixture
def held() -> dict[str, Any]:
    """Return the kinds of the check's failing fixture, with a secret in the pods' variables."""
    text = (find("jobset_no_restarts").folder / "fixtures" / "fail.yaml").read_text("utf-8")
    kinds: dict[str, Any] = yaml.safe_load(text)["kinds"]
    (jobset,) = kinds["jobsets.jobset.x-k8s.io"][:1]
    for job in jobset["spec"]["replicatedJobs"]:
        for container in job["template"]["spec"]["template"]["spec"]["containers"]:
            container["env"] = [{"name": "HF_TOKEN", "value": "hidden-value"}]
    return kinds


@pytest.fixture
def server(held: dict[str, Any]) -> Iterator[Scripted]:
    """Serve them."""
    by_plural = {kind.partition(".")[0]: objects for kind, objects in held.items()}

    def script(path: str, _: dict[str, str]) -> Answer:
        return discovery(path) or said({"metadata": {}, "items": by_plural.get(path.rpartition("/")[2], [])})

    with Scripted(script) as server:
        yield server


@pytest.fixture
def config(server: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a kubeconfig of the server, which is also the one that the environment names."""
    file = tmp_path / "config"
    file.write_text(kubeconfig(server.url, {"token": "t"}), "utf-8")
    monkeypatch.setenv("KUBECONFIG", str(file))
    monkeypatch.setenv("PATH", str(tmp_path))  # no Slurm here
    return file


def test_a_gap_of_a_live_cluster_is_told(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(cli, ["audit", *CHECK]) == 1
    told = capsys.readouterr().out
    assert "context it" in told
    assert "maxRestarts" in told


def test_the_cluster_may_be_named(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(cli, ["audit", "--kubeconfig", str(config), "--context", "it", *CHECK]) == 1
    assert execute(cli, ["audit", "--context", "other", *CHECK]) == 2
    assert "there is no context 'other'" in capsys.readouterr().err


def test_what_was_kept_is_audited_as_the_cluster_was(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "kept.json"
    assert execute(cli, ["audit", "--save", str(kept), "--format", "json", *CHECK]) == 1
    live = json.loads(capsys.readouterr().out)
    assert execute(cli, ["audit", "--from", str(kept), "--format", "json", *CHECK]) == 1
    assert json.loads(capsys.readouterr().out) == live
    assert kept.stat().st_mode & 0o777 == 0o600
    assert "hidden-value" not in kept.read_text("utf-8")
    assert "HF_TOKEN" in kept.read_text("utf-8")


def test_without_names_the_answer_is_the_same(
    config: Path, held: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "kept.json"
    metadata = held["jobsets.jobset.x-k8s.io"][0]["metadata"]
    metadata["namespace"] = "acme"
    assert execute(cli, ["audit", "--save", str(kept), "--redact", *CHECK]) == 1
    shown = capsys.readouterr().out
    assert "maxRestarts" in shown
    assert "acme" not in shown + kept.read_text("utf-8")
    assert execute(cli, ["audit", "--from", str(kept), *CHECK]) == 1


def test_a_snapshot_has_a_name_that_says_so(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(cli, ["audit", "--save", "kept.yaml", *CHECK]) == 2
    assert "name it kept.yaml.json" in capsys.readouterr().err


def test_a_snapshot_does_not_replace_what_it_was_made_from(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "kept.json"
    execute(cli, ["audit", "--save", str(kept), *CHECK])
    assert execute(cli, ["audit", "--from", str(kept), "--save", str(kept), *CHECK]) == 2
    assert "choose another --save" in capsys.readouterr().err
    assert execute(cli, ["audit", "--save", str(tmp_path / "none" / "kept.json"), *CHECK]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_a_dump_is_of_no_context(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(cli, ["audit", "--from", str(tmp_path), "--context", "it"]) == 2
    assert "leave out --context" in capsys.readouterr().err


def test_no_cluster_at_hand_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert execute(cli, ["audit"]) == 2
    told = capsys.readouterr().err
    assert "no cluster at hand" in told
    assert "evenpace demo-cluster" in told


def test_a_server_that_is_gone_is_one_clear_line(
    config: Path, server: Scripted, capsys: pytest.CaptureFixture[str]
) -> None:
    server.__exit__()
    assert execute(cli, ["audit", *CHECK]) == 2
    assert "cannot read http://127.0.0.1" in capsys.readouterr().err


@pytest.mark.parametrize("status", [302, 403, 500])
def test_a_server_that_gives_nothing_is_no_clean_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], status: int
) -> None:
    with Scripted(lambda path, _: (status, b"{}")) as server:
        file = tmp_path / "config"
        file.write_text(kubeconfig(server.url, {"token": "t"}), "utf-8")
        monkeypatch.setenv("PATH", str(tmp_path))
        told = execute(cli, ["audit", "--kubeconfig", str(file), *CHECK])
    error = capsys.readouterr().err.strip()
    assert (told, error.count("\n")) == (0 if status == 403 else 2, 0)


def test_a_snapshot_does_not_replace_the_kubeconfig(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = config.rename(tmp_path / "kube.json")
    before = named.read_bytes()
    assert execute(cli, ["audit", "--kubeconfig", str(named), "--save", str(named), *CHECK]) == 2
    assert "is read by this audit" in capsys.readouterr().err
    assert named.read_bytes() == before
