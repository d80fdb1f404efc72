from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import click
import pytest

from evenpace.cli.report import command
from evenpace.errors import Problem
from evenpace.watch import events as ev


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "monday" / "events.jsonl"
    path.parent.mkdir()
    started = ev.RunStarted(
        time=ev.stamp(1000),
        run="monday",
        version="0.1.0",
        host="h",
        command=["torchrun", "t.py"],
        policy="observe",
    )
    numbers = [
        ev.Iteration(
            time=ev.stamp(1001 + i),
            incarnation=0,
            iteration=i,
            ranks=[0, 1],
            durations=[1.0, 1.0],
            busy=[0.5, 0.6],
            waiting=[0.1, 0.0],
        )
        for i in range(5)
    ]
    ended = ev.RunEnded(time=ev.stamp(1010), outcome="finished", exit_code=0)
    path.write_bytes(b"".join(ev.encode(event) + b"\n" for event in [started, *numbers, ended]))
    return path


def evenpace(*arguments: object) -> int:
    """Run the command as the root does: what is wrong with the input is an exception, and one line."""
    try:
        command.main([str(argument) for argument in arguments], "evenpace report", standalone_mode=False)
    except (Problem, click.ClickException) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def test_text_of_a_folder_and_of_a_log(log: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert evenpace(log.parent) == 0
    folder = capfd.readouterr()
    assert evenpace(log) == 0
    assert capfd.readouterr() == folder
    assert "No fault found. The run finished." in folder.out
    assert folder.err == ""


def test_json_and_korean(log: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert evenpace(log, "--format", "json", "--lang", "ko") == 0
    page = json.loads(capfd.readouterr().out)
    assert (page["schema"], page["run"]["run"]) == (1, "monday")
    assert "발견된 장애 없음" in page["verdict"]


@pytest.mark.parametrize("form", ["text", "json", "html"])
def test_output_goes_to_a_file(log: Path, form: str, capfd: pytest.CaptureFixture[str]) -> None:
    target = log.parent.parent / "out"
    before = sorted(log.parent.iterdir())
    assert evenpace(log, "--format", form, "--output", target) == 0
    assert "monday" in target.read_text(encoding="utf-8")
    assert capfd.readouterr() == ("", "")
    assert sorted(log.parent.iterdir()) == before  # no surprises in the run's own folder


@pytest.mark.parametrize("output", [[], ["--output", "-"]])
def test_html_to_a_pipe(log: Path, output: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert evenpace(log, "--format", "html", *output) == 0
    assert capfd.readouterr().out.startswith("<!doctype html>")


def test_html_is_not_for_a_terminal(
    log: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdout", Terminal())
    assert evenpace(log, "--format", "html") == 2
    assert "--output" in capfd.readouterr().err


def test_damage_is_one_warning(log: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log.write_bytes(log.read_bytes() + b"garbage\n{}\n")
    assert evenpace(log) == 0
    said = capfd.readouterr()
    assert said.err == "evenpace: 2 damaged lines of the log were left out.\n"
    assert "No fault found" in said.out


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["{beside}"], "runs there: {run}"),
        (["{empty}"], "no event"),
        (["{log}", "--output", "{log}"], "choose another --output"),
        (["{log}", "--output", "{run}"], "choose another --output"),
        (["{log}", "--follow", "--format", "json"], "leave --format and --output out"),
        (["{log}", "--follow", "--output", "x"], "leave --format and --output out"),
        (["{log}", "--format", "pdf"], "'text', 'json', 'html'"),
        ([], "Missing"),
    ],
)
def test_bad_input_is_one_line(
    log: Path, tmp_path: Path, arguments: list[str], hint: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").touch()
    places = {"log": log, "run": log.parent, "beside": tmp_path / "tuesday", "empty": tmp_path / "empty"}
    before = log.read_bytes()
    assert evenpace(*(argument.format(**places) for argument in arguments)) == 2
    said = capfd.readouterr()
    assert hint.format(**places) in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""
    assert log.read_bytes() == before


def test_follow_of_a_run_that_has_ended(log: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert evenpace(log.parent, "--follow") == 0
    assert len(capfd.readouterr().out.splitlines()) == 7
