from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import click
import pytest
from tests.simulate.made import Job, Row, trace, write
from tests.simulate.test_replay import iterations, log_of, slowed, steady

from evenpace.cli import cli, execute
from evenpace.cli.replay import command
from evenpace.errors import Problem
from evenpace.findings import Finding, Severity, Subject
from evenpace.watch import events as ev


def evenpace(*arguments: object) -> int:
    """Run the command as the root does: what is wrong with the input is an exception, and one line."""
    try:
        command.main([str(argument) for argument in arguments], "evenpace replay", standalone_mode=False)
    except (Problem, click.ClickException) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def slow_rows() -> list[Row]:
    return trace(Job(work=lambda d, s, t, m: 2.0 if (d, s) == (1, 0) else 1.0))


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    return write(tmp_path / "trace.csv", slow_rows())


@pytest.fixture
def run(tmp_path: Path) -> Path:
    said = Finding(
        "non-communication-slow", Severity.WARNING, 0.9, Subject("rank", rank=2, node="n2"), "slow"
    )
    raised = ev.FindingRaised(time=ev.stamp(1100), incarnation=0, id=7, finding=said, iteration=61)
    decision = ev.Decision(
        time=ev.stamp(1100), incarnation=0, policy="observe", action="none", reason="", costs={"restart": 1.0}
    )
    return log_of(tmp_path / "run", [*iterations(140, slowed), raised, decision])


def test_a_trace_is_answered_with_the_culprit_first(slow: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert evenpace(slow) == 0
    title, verdict, *rest = capfd.readouterr().out.splitlines()
    assert str(slow) in title
    assert verdict.startswith("Own work of rank 2 (dp 1, stage 0) takes 2.00 times as long as its peers'")
    page = "\n".join(rest)
    for part in (
        "8 workers (replicas: 4, stages: 2)",
        "M_W",
        "forward-compute",
        "micro-batches",
        "slow from",
    ):
        assert part in page


def test_in_korean(slow: Path, run: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert evenpace(slow, "--lang", "ko") == 0
    of_trace = capfd.readouterr().out
    assert "rank 2(dp 1, stage 0)의 연산이" in of_trace
    assert "micro-batch 조정: step" in of_trace
    assert evenpace(run, "--lang", "ko") == 0
    of_run = capfd.readouterr().out
    assert "때문에 iteration" in of_run
    assert "재시작 1회 비용 1 s" in of_run


def test_one_of_a_kind_is_one(run: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert evenpace(run) == 0
    assert "140 iterations in 1 start\n" in capfd.readouterr().out.replace(" \n", "\n")


def test_advice_and_what_is_missing_are_told_as_in_json(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    one_stage = trace(Job(stages=1, work=lambda d, s, t, m: 2.0 if d == 1 else 1.0))
    path = write(tmp_path / "trace.csv", one_stage)
    for lang in ("en", "ko"):
        assert evenpace(path, "--lang", lang, "--format", "json") == 0
        findings = json.loads(capfd.readouterr().out)["findings"]
        assert evenpace(path, "--lang", lang) == 0
        out = capfd.readouterr().out
        assert findings[0]["missing"]
        for finding in findings:
            for text in (*(one["text"] for one in finding["advice"]), *finding["missing"]):
                assert out.count(text) == 1


@pytest.mark.parametrize("width", [44, 55, 64, 76])
def test_tables_lose_no_letter_of_korean(
    slow: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    width: int,
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for path in (slow, log_of(tmp_path / "run", iterations(100, steady))):
        assert evenpace(path, "--lang", "ko") == 0
        assert "…" not in capfd.readouterr().out


@pytest.mark.parametrize("width", [60, 120])
@pytest.mark.parametrize("lang", ["en", "ko"])
def test_no_line_is_wider_than_the_terminal(
    slow: Path,
    run: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    width: int,
    lang: str,
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for path in (slow, run):
        assert evenpace(path, "--lang", lang) == 0
        assert all(len(row) <= width for row in capfd.readouterr().out.splitlines())


def test_json_is_the_contract_with_all_numbers(slow: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert evenpace(slow, "--format", "json", "--top", "3") == 0
    page = json.loads(capfd.readouterr().out)
    assert page["schema"] == 1
    assert page["findings"][0]["subject"]["rank"] == 2
    (whatif,) = page["replay"]["whatif"]
    assert len(whatif["workers"]) == 3
    assert whatif["slowdown"] == pytest.approx(whatif["actual"] / whatif["ideal"])
    assert page["replay"]["run"] is None
    assert page["replay"]["planner"]


def test_a_run_is_shown_beside_what_was_said(run: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert evenpace(run) == 0
    out = capfd.readouterr().out
    assert out.splitlines()[1].startswith("Start 0: because of rank 2 (n2), the job is")
    rows = [row for row in out.splitlines() if row.startswith("    0  ")]
    assert len(rows) == 2
    assert all("rank 2" in row for row in rows)
    assert "restart for 1 s once; it pays after" in out
    assert evenpace(run, "--format", "json") == 0
    page = json.loads(capfd.readouterr().out)
    assert page["replay"]["run"]["findings"][0]["iteration"] == 61
    assert [spell["ranks"] for spell in page["replay"]["detector"]] == [[2]]


@pytest.mark.parametrize(
    ("lang", "text"),
    [("en", "; the log holds no price of a restart"), ("ko", ". 로그에 재시작 비용 기록 없음")],
)
def test_a_run_whose_decisions_weigh_no_restart_lacks_its_price_only(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], lang: str, text: str
) -> None:
    costs = {"none": 0.0, "micro-batches": 0.3}
    decision = ev.Decision(
        time=ev.stamp(1100), incarnation=0, policy="adapt", action="none", reason="", costs=costs
    )
    assert evenpace(log_of(tmp_path / "run", [*iterations(140, slowed), decision]), "--lang", lang) == 0
    assert text in capfd.readouterr().out


def test_a_healthy_run_names_nobody(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert evenpace(log_of(tmp_path / "run", iterations(100, steady))) == 0
    out = capfd.readouterr().out
    assert "sees no onset, and nobody slow from the start" in out
    assert "because of" not in out


def test_what_was_left_out_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rows = [*slow_rows()[1:], slow_rows()[0] | {"optype": "nap"}]
    peers = [row | {"rank": int(row["rank"]) + 50} for row in slow_rows()]
    assert evenpace(write(tmp_path / "t.csv", [*rows, *peers])) == 0
    out = " ".join(capfd.readouterr().out.split())
    assert "unknown operations: nap (1)" in out
    assert "1 incomplete step (3); for one, forward-compute 0 of replica 0, stage 0, step 3 is missing" in out
    assert "8 further ranks" in out


def test_names_from_a_trace_cannot_steer_the_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = [*slow_rows(), slow_rows()[0] | {"optype": "\x1b[31mred"}]
    assert evenpace(write(tmp_path / "t.csv", rows)) == 0
    assert "\x1b" not in capfd.readouterr().out
    assert evenpace(tmp_path / "t.csv", "--format", "json") == 0
    assert "\x1b" not in capfd.readouterr().out


def test_nor_can_they_by_way_of_a_complaint(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rows = [row | {"optype": "\x1b[31mred"} for row in slow_rows()]
    for path in (write(tmp_path / "t.csv", rows), tmp_path / "\x1b[31m.csv"):
        assert execute(cli, ["replay", str(path)]) == 2
    assert "\x1b" not in capfd.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["nowhere.csv"], ["trace.csv", "--format", "xml"], ["trace.csv", "--top", "0"]]
)
def test_wrong_input_is_one_line(
    slow: Path, arguments: list[str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(slow.parent)
    assert evenpace(*arguments) == 2
    captured = capfd.readouterr()
    assert captured.out == ""
    assert len(captured.err.strip().splitlines()) == 1


def test_progress_goes_to_a_terminal(
    slow: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    assert evenpace(slow) == 0
    assert capfd.readouterr().err == ""
    monkeypatch.setattr(sys, "stderr", screen)
    assert evenpace(slow) == 0
    assert screen.getvalue()
