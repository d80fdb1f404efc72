"""The command line's root: commands found without import, and every error one line with what to do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evenpace import __version__, cli

COMMAND = '''"""Try things for a test."""

import click
from evenpace.errors import Problem


@click.command()
@click.option("--raises")
@click.option("--policy")
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def command(raises, policy, words):
    """Try things."""
    print(list(words), policy)
    if raises == "problem":
        raise Problem("cannot write /x:\\nread-only; choose another folder with --dir")
    if raises == "interrupt":
        raise KeyboardInterrupt
    if raises == "pipe":
        raise BrokenPipeError
    if raises == "defect":
        raise ZeroDivisionError("division by zero")
    if raises == "exit":
        raise click.exceptions.Exit(9)
    return 7 if policy == "seven" else None
'''
Run = Callable[..., int]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Return `run(*argv)` over a group whose only command is `try-it`."""
    folder = tmp_path / "evenpace_commands_of_a_test"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "_helper.py").write_text('"""No command."""\n')
    (folder / "try_it.py").write_text(COMMAND)
    monkeypatch.syspath_prepend(tmp_path)
    group = cli.Commands("evenpace", folder=folder, package=folder.name, no_args_is_help=False)
    yield lambda *argv: cli.execute(group, list(argv))
    for name in [name for name in sys.modules if name.startswith(folder.name)]:
        del sys.modules[name]


def only_line(capsys: pytest.CaptureFixture[str]) -> str:
    """Return the one line that stderr has."""
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("evenpace: ")
    return lines[0].removeprefix("evenpace: ")


def test_help_lists_commands_by_their_docstring(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    out = capsys.readouterr().out
    assert "try-it" in out
    assert "Try things for a test." in out
    assert "helper" not in out
    assert not [name for name in sys.modules if name.endswith("try_it")]


def test_all_after_two_dashes_belongs_to_the_job(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["torchrun", "--policy", "theirs", "train.py", "--", "--raises", "defect", "-h"]
    assert run("try-it", "--policy", "ours", "--", *argv) == 0
    assert capsys.readouterr().out == f"{argv} ours\n"


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ([], "Missing command. See `evenpace --help`."),
        (["tri-it"], "No command 'tri-it'. There are: try-it. See `evenpace --help`."),
        (["--polcy"], "No such option '--polcy'. See `evenpace --help`."),
        (["try-it", "--polcy", "x"], "did you mean '--policy'? see `evenpace try-it --help`."),
        (["try-it", "--policy"], "'--policy' requires an argument. See `evenpace try-it --help`."),
    ],
)
def test_wrong_usage_is_one_line(
    run: Run, capsys: pytest.CaptureFixture[str], argv: list[str], says: str
) -> None:
    assert run(*argv) == 2
    assert says.lower() in only_line(capsys).lower()


@pytest.mark.parametrize(
    ("raises", "code", "says"),
    [
        ("problem", 2, "cannot write /x: read-only; choose another folder with --dir"),
        ("interrupt", 130, "interrupted"),
    ],
)
def test_an_error_is_one_line(
    run: Run, capsys: pytest.CaptureFixture[str], raises: str, code: int, says: str
) -> None:
    assert run("try-it", "--raises", raises) == code
    assert only_line(capsys) == says


@pytest.mark.parametrize(("argv", "code"), [(["--raises", "exit"], 9), (["--policy", "seven"], 7), ([], 0)])
def test_a_command_chooses_its_exit_code(run: Run, argv: list[str], code: int) -> None:
    assert run("try-it", *argv) == code


def test_a_defect_leaves_its_details_in_a_file(
    run: Run, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert run("try-it", "--raises", "defect") == 70
    line = only_line(capsys)
    (details,) = tmp_path.glob("evenpace-crash-*.txt")
    assert line.startswith("unexpected ZeroDivisionError: division by zero")
    assert line.endswith(str(details))
    assert "raise ZeroDivisionError" in details.read_text("utf-8")


def test_a_defect_is_told_even_where_nothing_can_be_written(
    run: Run, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    assert run("try-it", "--raises", "defect") == 70
    assert "could not be written" in only_line(capsys)


def test_a_closed_pipe_is_quiet() -> None:
    """`evenpace … | true` must not complain, however late the pipe closes."""
    code = (
        "import os; reads, writes = os.pipe(); os.dup2(writes, 1); os.close(writes); os.close(reads); "
        "from evenpace.cli import main; main(['--version'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (141, "")


def test_version_is_that_of_the_package() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "evenpace", "--version"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"evenpace {__version__}\n")


@pytest.mark.parametrize("argv", [["--help"], ["--version"], ["no-such-command"]])
def test_help_imports_nothing_heavy(argv: list[str]) -> None:
    """What `--help` in 150 ms is made of: the time itself says more about the machine."""
    heavy = "numpy rich jinja2 msgspec psutil prometheus_client torch asyncio evenpace.cli.run evenpace.terms"
    code = (
        f"import sys; from evenpace.cli import cli, execute; execute(cli, {argv}); "
        f"print('imported:', *set({heavy.split()}) & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].split() == ["imported:"]
