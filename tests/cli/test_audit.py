from __future__ import annotations

import json
from pathlib import Path

import pytest

from evenpace.checks.catalogue import checks
from evenpace.cli import cli, execute


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    settings = "HealthCheckProgram = (null)\nHealthCheckInterval = 0 sec\n"
    (tmp_path / "scontrol_show_config.txt").write_text(settings, "utf-8")
    return tmp_path


def test_a_gap_is_told_with_evidence_advice_and_incidents(
    dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(cli, ["audit", "--from", str(dump), "--check", "health_check_program_missing"]) == 1
    told = capsys.readouterr().out
    for part in ("HealthCheckProgram = (null)", "slurm.conf", "IL-0004", "1 of 1 checks found a gap"):
        assert part in told


def test_json_is_the_envelope_of_findings_and_the_outcome_of_each_check(
    dump: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    arguments = ["--format", "json", "--lang", "ko", "--check", "health_check_program_missing"]
    assert execute(cli, ["audit", "--from", str(dump), *arguments]) == 1
    page = json.loads(capsysbinary.readouterr().out)
    assert page["schema"] == 1
    assert page["findings"][0]["fault"] == "health-check-gap"
    (check,) = page["checks"]
    assert (check["outcome"], check["findings"], page["counts"]["fail"]) == ("fail", [0], 1)


def test_a_mended_cluster_passes(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = "HealthCheckProgram = /usr/sbin/nhc\nHealthCheckInterval = 300 sec\n"
    (dump / "scontrol_show_config.txt").write_text(settings, "utf-8")
    assert execute(cli, ["audit", "--from", str(dump), "--check", "health_check_program_missing"]) == 0
    assert "No gap found" in capsys.readouterr().out


def test_checks_are_listed_and_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(cli, ["audit", "--list"]) == 0
    listed = capsys.readouterr().out
    assert [id_ for id_ in checks() if id_ not in listed] == []
    assert execute(cli, ["audit", "--explain", "jobset_no_restarts", "--lang", "ko"]) == 0
    assert "maxRestarts" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "--from"),
        (["--explain", "nonsense"], "there is no check 'nonsense'"),
        (["--from", "{empty}"], "holds no facts of a cluster"),
    ],
)
def test_wrong_use_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    assert execute(cli, ["audit", *(part.format(empty=tmp_path) for part in arguments)]) == 2
    assert says in capsys.readouterr().err
