from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from evenpace.checks.catalogue import checks, find
from evenpace.cli import cli, execute
from evenpace.report.audit import formats
from evenpace.terms import LANGUAGES


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


FORMS = tuple(sorted(path.stem for path in Path(formats.__path__[0]).glob("[a-z]*.py")))
SETTING = ["--check", "health_check_program_missing"]


def written(capsysbinary: pytest.CaptureFixture[bytes], *arguments: str) -> tuple[int, str]:
    code = execute(cli, ["audit", *arguments])
    return code, capsysbinary.readouterr().out.decode()


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("form", FORMS)
def test_each_form_in_each_language(dump: Path, lang: str, form: str, tmp_path: Path) -> None:
    answer = tmp_path / f"answer.{form}"
    arguments = ["--from", str(dump), *SETTING, "--format", form, "--lang", lang, "--output", str(answer)]
    assert execute(cli, ["audit", *arguments]) == 1
    assert "HealthCheckProgram" in answer.read_text("utf-8")


def test_severities_decide_on_the_exit_code(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    severity = find("health_check_program_missing").content.severity.value
    order = ("critical", "warning", "info", "undecided", "never")
    codes = [execute(cli, ["audit", "--from", str(dump), *SETTING, "--fail-on", one]) for one in order]
    at = order.index(severity)
    assert codes == [0] * at + [1] * (len(order) - 1 - at) + [0]


def test_an_undecided_check_fails_where_that_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = {"family": "slurm", "taken": "2026-11-29T12:00:00Z", "kinds": {"nodes": []}}
    path = tmp_path / "saved.json"
    path.write_text(json.dumps(page), "utf-8")
    assert execute(cli, ["audit", "--from", str(path), *SETTING]) == 0
    told = capsys.readouterr().out
    assert "Nothing could be decided" in told
    assert "health_check_program_missing" in told
    assert execute(cli, ["audit", "--from", str(path), *SETTING, "--fail-on", "undecided"]) == 1


@pytest.mark.parametrize(("expires", "code"), [("2999-12-31", 0), ("2020-01-01", 1)])
def test_a_suppressed_gap_does_not_count_until_its_day(
    dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], expires: str, code: int
) -> None:
    file = tmp_path / "accepted.toml"
    file.write_text(
        '[[suppress]]\ncheck = "health_check_program_missing"\nsubject = "*"\n'
        f'reason = "Moved next week."\nexpires = {expires}\n',
        "utf-8",
    )
    assert execute(cli, ["audit", "--from", str(dump), *SETTING, "--suppress", str(file)]) == code
    assert expires in capsys.readouterr().out


def test_what_a_baseline_has_does_not_fail_again(
    dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    earlier = tmp_path / "monday.json"
    asked = ["--from", str(dump), "--lang", "ko"]
    assert execute(cli, ["audit", *asked, "--format", "json", "--output", str(earlier)]) == 1
    assert execute(cli, ["audit", "--from", str(dump), "--baseline", str(earlier)]) == 0
    assert "Known from the baseline" in capsys.readouterr().out


def test_a_check_is_explained_in_forms(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    code, told = written(capsysbinary, "--explain", "jobset-no-restarts", "--format", "json")
    page = json.loads(told)["check"]
    assert (code, page["id"], page["severity"]) == (0, "jobset_no_restarts", "critical")
    assert {one["id"] for one in page["incidents"]} >= {"IL-0041", "IL-0138"}
    code, told = written(capsysbinary, "--explain", "jobset_no_restarts", "--format", "markdown")
    assert code == 0
    assert told.startswith("# jobset_no_restarts\n")
    assert "   kubectl get jobset <name> -n <namespace> -o yaml\n" in told
    code, told = written(capsysbinary, "--list", "--format", "json")
    assert [one["id"] for one in json.loads(told)["checks"]] == list(checks())
    code, told = written(capsysbinary, "--list", "--format", "markdown", "--lang", "ko")
    assert told.count("\n- `") == len(checks()) - 1


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("id_", list(checks()))
def test_every_check_can_be_explained(
    capsysbinary: pytest.CaptureFixture[bytes], id_: str, lang: str
) -> None:
    for form in ("text", "markdown"):
        code, told = written(capsysbinary, "--explain", id_, "--lang", lang, "--format", form)
        assert code == 0
        assert find(id_).content.incident == () or "IL-" in told


def test_progress_is_shown_on_a_terminal_only(dump: Path) -> None:
    command = [sys.executable, "-m", "evenpace", "audit", "--from", str(dump), *SETTING]
    quiet = subprocess.run(command, capture_output=True, check=False)
    assert (quiet.returncode, quiet.stderr) == (1, b"")
    leader, follower = pty.openpty()
    shown = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=follower, env=os.environ | {"TERM": "xterm"}
    )
    os.close(follower)
    told = b"".join(iter(lambda: _read(leader), b""))
    answer, _ = shown.communicate(timeout=60)
    os.close(leader)
    assert answer == quiet.stdout
    assert b"health_check_program_missing" in told
    assert b"Reading the cluster" in told


def _read(leader: int) -> bytes:
    try:
        return os.read(leader, 4096)
    except OSError:  # the other end is closed
        return b""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "--from"),
        (["--explain", "nonsense"], "there is no check 'nonsense'"),
        (["--from", "{empty}"], "holds no facts of a cluster"),
        (["--list", "--format", "sarif"], "as text, json, markdown, not as sarif"),
        (["--from", "{empty}", "--fail-on", "some"], "'some' is not one of"),
        (["--from", "{empty}", "--baseline", "/nowhere"], "does not exist"),
    ],
)
def test_wrong_use_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    assert execute(cli, ["audit", *(part.format(empty=tmp_path) for part in arguments)]) == 2
    assert says in capsys.readouterr().err


def test_what_lies_where_a_snapshot_is_first_written_is_neither_followed_nor_kept(dump: Path) -> None:
    precious = dump / "precious"
    precious.write_text("kept", "utf-8")
    (dump / ".linked.json.part").symlink_to(precious)
    (dump / ".open.json.part").write_text("", "utf-8")
    (dump / ".open.json.part").chmod(0o666)
    for name in ("linked.json", "open.json"):
        assert execute(cli, ["audit", "--from", str(dump), "--save", str(dump / name), *SETTING]) == 1
        assert (dump / name).lstat().st_mode & 0o7777 == 0o600
    assert precious.read_text("utf-8") == "kept"
    assert not list(dump.glob(".*.part"))


def test_the_answer_is_not_written_over_what_was_named_besides(
    dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept, script = str(dump / "kept.json"), dump / "train.sbatch"
    script.write_text("#!/bin/sh\n", "utf-8")
    named = ["--from", str(dump), "--save", kept, "--job-script", str(script), *SETTING]
    for output in (kept, str(script)):
        assert execute(cli, ["audit", *named, "--output", output]) == 2
        assert "choose another --output" in capsys.readouterr().err
    assert script.read_text("utf-8") == "#!/bin/sh\n"
    assert (dump / "kept.json").read_bytes().startswith(b"[")
